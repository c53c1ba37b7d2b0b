#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/cli/chat/chat_request.h"
#include "tests/support/temp_dir.h"

namespace millrace::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json body_of(const ChatRequestParameters& parameters) {
  return json::parse(chat_body(parameters, json::array({message_of("user", "hi")})));
}

TEST(ChatBody, ParametersThatAreNotSetAreLeftToTheModel) {
  ChatRequestParameters parameters;
  parameters.model = "m";
  EXPECT_EQ(body_of(parameters), json::parse(R"({"model":"m","messages":[{"role":"user","content":"hi"}]})"));
}

TEST(ChatBody, OptionsBecomeParameters) {
  ChatRequestParameters parameters{
      .model = "m", .max_tokens = 7, .temperature = 0.5, .stream = true, .usage = true};
  const json body = body_of(parameters);
  EXPECT_EQ(body["max_completion_tokens"], 7);
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["stream"], true);
  EXPECT_EQ(body["stream_options"]["include_usage"], true);
}

TEST(ChatBody, UsageOfAStreamIsAskedForNowhereElse) {
  ChatRequestParameters parameters{.model = "m", .usage = true, .deferred = true};
  const json body = body_of(parameters);
  EXPECT_EQ(body["deferred"], true);
  EXPECT_FALSE(body.contains("stream") || body.contains("stream_options"));
}

TEST(ChatBody, ImagesStandBeforeTheText) {
  const json content = user_message("what is it", {"https://h/a.png"})["content"];
  ASSERT_EQ(content.size(), 2u);
  EXPECT_EQ(content[0]["image_url"]["url"], "https://h/a.png");
  EXPECT_EQ(content[1]["text"], "what is it");
}

TEST(ChatBody, TextThatIsNoUtf8IsMended) {
  EXPECT_THAT(chat_body({.model = "m"}, json::array({message_of("user", "a\xff")})),
              HasSubstr("a\xef\xbf\xbd"));
}

TEST(ChatBody, AnImageIsOfTheTypeThatItsBytesShow) {
  const support::TempDir folder;
  const std::string riff("RIFF\x10\x00\x00\x00WEBPVP8 ", 16);
  EXPECT_THAT(*image_url_of(folder.write("a", "\x89PNG\r\n\x1a\nrest")),
              testing::StartsWith("data:image/png;"));
  EXPECT_THAT(*image_url_of(folder.write("b", "\xff\xd8\xff\xe0")), testing::StartsWith("data:image/jpeg;"));
  EXPECT_EQ(*image_url_of(folder.write("c", "GIF89a")), "data:image/gif;base64,R0lGODlh");
  EXPECT_THAT(*image_url_of(folder.write("d", riff)), testing::StartsWith("data:image/webp;"));
  EXPECT_EQ(*image_url_of("https://h/a.png"), "https://h/a.png");
}

TEST(ChatBody, WhatIsNoImageIsRefusedByName) {
  const support::TempDir folder;
  const auto text = image_url_of(folder.write("notes.txt", "no image"));
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("notes.txt is not a PNG"));
  const auto none = image_url_of(folder.str() + "/none.png");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("none.png: "));
}

}  // namespace
}  // namespace millrace::cli

#include "schemas/chat/chat_job.h"

#include <gtest/gtest.h>

namespace millrace::schemas::chat_job_test {
namespace {

using schemas::Json;

TEST(ChatOutcomes, WhatIsKeptComesBack) {
  const ChatOutcome kept{.model = "openai/gpt",
                         .attempts = 3,
                         .dropped = "seed, n;emulated",
                         .usage = R"({"total_tokens":5})",
                         .cost_usd = 0.000123,
                         .completion = "{\"id\":\"a\\nb\"}"};
  const auto back = chat_outcome_from(chat_outcome_text(kept));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->model, kept.model);
  EXPECT_EQ(back->attempts, kept.attempts);
  EXPECT_EQ(back->dropped, kept.dropped);
  EXPECT_EQ(back->usage, kept.usage);
  EXPECT_EQ(back->cost_usd, kept.cost_usd);
  EXPECT_EQ(back->completion, kept.completion);
}

TEST(ChatOutcomes, TheFieldThatAnOlderReleaseWroteIsRead) {
  const auto back = chat_outcome_from("{\"model\":\"m\",\"attempts\":1,\"param\":\"messages\"}\n");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(back->param, "messages");
}

TEST(ChatOutcomes, WhatIsNoneIsNotTakenForOne) {
  for (const char* text : {"", "{}", "[]\n{}", "nonsense\n{}"})
    EXPECT_FALSE(chat_outcome_from(text).has_value()) << text;
}

TEST(ChatOutcomes, DollarsAreWrittenWithoutAnExponent) {
  EXPECT_EQ(dollars(0), "0");
  EXPECT_EQ(dollars(2), "2");
  EXPECT_EQ(dollars(0.000000001), "0.000000001");
  EXPECT_EQ(dollars(0.1 + 0.2), "0.3");
}

ChatRequest with_image(const Json& image) {
  ChatRequest request;
  const Json part = {{"type", "image_url"}, {"image_url", image}};
  const Json text = {{"type", "text"}, {"text", "what is this?"}};
  request.body = {{"messages", Json::array({{{"role", "user"}, {"content", Json::array({text, part})}}})}};
  return request;
}

TEST(KeptImages, OnlyOneThatStandsInTheRequestAndIsTooLargeIsDropped) {
  const std::string large = "data:image/png;base64," + std::string((12u << 20), 'A');
  const std::string small = "data:image/png;base64," + std::string(1000, 'A');
  ChatRequest dropped = with_image({{"url", large}});
  EXPECT_TRUE(drop_large_images(dropped));
  EXPECT_EQ(dropped.body["messages"][0]["content"][1]["type"], "text");
  EXPECT_EQ(dropped.body["messages"][0]["content"][0]["text"], "what is this?");
  for (const Json& kept : {Json{{"url", small}}, Json("https://pictures.example/a.png"), Json(7)}) {
    ChatRequest request = with_image(kept);
    EXPECT_FALSE(drop_large_images(request));
  }
}

}  // namespace
}  // namespace millrace::schemas::chat_job_test

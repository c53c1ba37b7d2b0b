#include <gtest/gtest.h>

#include "ai/providers/media.h"
#include "ai/providers/mock/media.h"
#include "platform/base/base64.h"
#include "tests/unit/providers/openai_cases.h"

namespace millrace::providers::image_wire_test {
namespace {

using schemas::ImageRequest;
using schemas::Json;
using testing::target_of;

ImageRequest request(Json rest = Json::object()) {
  ImageRequest out;
  out.model = "m";
  out.prompt = "a mill";
  out.rest = std::move(rest);
  return out;
}

Json sent(const Target& target, const ImageRequest& wanted) {
  const WireRequest wire = image_request(target, wanted);
  EXPECT_EQ(wire.path, "/images/generations");
  return Json::parse(wire.body);
}

net::SseEvent event(const Json& data) {
  net::SseEvent out;
  out.data = data.dump();
  return out;
}

TEST(ImageWire, DallEIsAskedForBase64AndGptImageIsNot) {
  EXPECT_EQ(
      sent(target_of("openai", "dall-e-3"), request({{"quality", "auto"}, {"style", "vivid"}})),
      (Json{
          {"model", "dall-e-3"}, {"prompt", "a mill"}, {"style", "vivid"}, {"response_format", "b64_json"}}));
  ImageRequest streamed = request({{"quality", "auto"}});
  streamed.stream = true;
  streamed.partial_images = 2;
  streamed.n = 3;
  EXPECT_EQ(sent(target_of("openai", "gpt-image-1"), streamed), (Json{{"model", "gpt-image-1"},
                                                                      {"prompt", "a mill"},
                                                                      {"quality", "auto"},
                                                                      {"stream", true},
                                                                      {"partial_images", 2},
                                                                      {"n", 3}}));
}

TEST(ImageWire, ResponseFormatIsNotSentToModelsThatAlwaysReturnBase64) {
  ImageRequest image_request = request();
  image_request.response_format = "b64_json";
  for (const char* model : {"gpt-image-2", "chatgpt-image-latest"})
    EXPECT_EQ(sent(target_of("openai", model), image_request),
              (Json{{"model", model}, {"prompt", "a mill"}}));
}

TEST(ImageWire, WhatIsNotSentToAProviderIsReported) {
  const WireRequest wire = image_request(target_of("xai", "grok-image"),
                                         request({{"size", "1x1"}, {"user", std::string(65, 'u')}}));
  EXPECT_EQ(schemas::dropped_text(wire.dropped), "size, user;clamped");
  EXPECT_FALSE(Json::parse(wire.body).contains("size"));
}

TEST(ImageWire, ALocalServerMakesOneImageInACall) {
  ImageRequest three = request();
  three.n = 3;
  const Target local = target_of("vllm", "draw");
  EXPECT_EQ(image_calls(local, three), 3);
  EXPECT_FALSE(sent(local, three).contains("n"));
  EXPECT_EQ(schemas::dropped_text(image_request(local, three).dropped), "n;emulated");
  EXPECT_EQ(image_calls(target_of("openai", "dall-e-2"), three), 1);
  three.stream = true;
  EXPECT_EQ(image_calls(local, three), 1);
  EXPECT_EQ(sent(local, three)["n"], 3);
}

TEST(ImageWire, AReplysImagesUsageAndOtherMembersAreRead) {
  const auto reply =
      image_reply(target_of("openai", "m"),
                  R"({"created":5,"data":[{"b64_json":"QQ==","revised_prompt":"p"},{"url":"http://u"}],
                                     "usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3},"size":"1x1"})");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->created, 5);
  EXPECT_EQ(reply->images.at(0).b64_json, "QQ==");
  EXPECT_EQ(reply->images.at(0).revised_prompt, "p");
  EXPECT_EQ(reply->images.at(1).url, "http://u");
  EXPECT_EQ(reply->usage->total, 3);
  EXPECT_EQ(reply->extra, (Json{{"size", "1x1"}}));
}

TEST(ImageWire, WhatHasNoImageIsNoReply) {
  for (const char* body :
       {"", "{}", R"({"data":[]})", R"({"data":[{}]})", R"({"data":[7]})", R"({"data":7})"})
    EXPECT_FALSE(image_reply(target_of("openai", "m"), body)) << body;
  const auto error = image_reply(target_of("openai", "m"), R"({"error":{"message":"no luck","code":429}})");
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().code, base::Code::kRateLimited);
}

TEST(ImageWire, EventsOfImagesAreReadAndOthersIgnored) {
  const Target target = target_of("openai", "gpt-image-1");
  const auto partial = image_event(target, event({{"type", "image_generation.partial_image"},
                                                  {"b64_json", "QQ=="},
                                                  {"partial_image_index", 1},
                                                  {"background", "opaque"}}));
  ASSERT_TRUE(partial && *partial);
  EXPECT_FALSE((*partial)->completed);
  EXPECT_EQ((*partial)->partial_index, 1);
  EXPECT_EQ((*partial)->background, "opaque");
  const auto other = image_event(target, event({{"type", "image_generation.thinking"}}));
  EXPECT_TRUE(other && !*other);
  EXPECT_FALSE(image_event(target, event({{"type", "error"}, {"error", {{"message", "no luck"}}}})));
  EXPECT_FALSE(image_event(target, event({{"type", "image_generation.completed"}})));
}

TEST(ImageWire, AProviderWithoutImagesIsRefused) {
  for (const char* provider : {"anthropic", "groq"}) EXPECT_TRUE(no_images(target_of(provider, "m")));
  for (const char* provider : {"openai", "gemini"}) EXPECT_FALSE(no_images(target_of(provider, "m")));
}

TEST(MockImages, AStreamEndsWithTheImageOfTheWholeReply) {
  ImageRequest wanted = request({{"size", "16x8"}});
  wanted.partial_images = 2;
  const auto events = mock_image_events(wanted);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].b64_json, mock_images(wanted).images.at(0).b64_json);
  EXPECT_NE(events[0].b64_json, events[1].b64_json);
  EXPECT_TRUE(events[2].completed && events[2].usage);
}

TEST(MockPng, ItIsAWholePngWhoseBytesFollowFromSeedAndSize) {
  const std::string png = mock_png(1024, 1024, 7);
  EXPECT_TRUE(png.starts_with("\x89PNG\r\n\x1a\n"));
  EXPECT_TRUE(png.ends_with("IEND\xAE\x42\x60\x82"));
  EXPECT_EQ(png, mock_png(1024, 1024, 7));
  EXPECT_NE(png, mock_png(1024, 1024, 8));
  EXPECT_LT(png.size(), 140'000u);
}

}  // namespace
}  // namespace millrace::providers::image_wire_test

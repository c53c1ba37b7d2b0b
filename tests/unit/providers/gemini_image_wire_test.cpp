#include <gtest/gtest.h>

#include "ai/providers/media.h"
#include "tests/unit/providers/openai_cases.h"

// Images of Gemini's API in its published format: requests and replies.
namespace millrace::providers::gemini_image_wire_test {
namespace {

using schemas::ImageRequest;
using schemas::Json;
using testing::target_of;

const Target& drawing() {
  static const Target target = target_of("gemini", "gemini-2.5-flash-image");
  return target;
}
const Target& imagen() {
  static const Target target = target_of("gemini", "imagen-4.0-generate-001");
  return target;
}

ImageRequest image_of(Json rest = Json::object(), int n = 1) {
  ImageRequest out;
  out.model = "m";
  out.prompt = "a mill";
  out.n = n;
  out.rest = std::move(rest);
  return out;
}

Json body_of(const Target& target, const ImageRequest& request, int call = 0) {
  return Json::parse(image_request(target, request, call).body);
}

std::string dropped(const Target& target, const ImageRequest& request) {
  return schemas::dropped_text(image_request(target, request).dropped);
}

base::Error fault_of(const Target& target, const Json& answer) {
  const auto reply = image_reply(target, answer.dump());
  EXPECT_FALSE(reply);
  return reply ? base::Error() : reply.error();
}

TEST(GeminiImageWire, ImagesAloneAreRequestedOfAGeminiModel) {
  const WireRequest wire = image_request(drawing(), image_of({{"size", "1536x1024"}}));
  EXPECT_EQ(wire.path, "/v1beta/models/gemini-2.5-flash-image:generateContent");
  EXPECT_EQ(Json::parse(wire.body), Json::parse(R"({
      "contents": [{"role": "user", "parts": [{"text": "a mill"}]}],
      "generationConfig": {"responseModalities": ["IMAGE"], "imageConfig": {"aspectRatio": "3:2"}}})"));
  EXPECT_EQ(schemas::dropped_text(wire.dropped), "size;clamped");
}

TEST(GeminiImageWire, ItsFirstOnesMustBeAllowedToWriteAndHaveNoShapes) {
  const Target early = target_of("gemini", "gemini-2.0-flash-preview-image-generation");
  const Json config = body_of(early, image_of({{"size", "1024x1024"}}))["generationConfig"];
  EXPECT_EQ(config, (Json{{"responseModalities", {"TEXT", "IMAGE"}}}));
  EXPECT_EQ(dropped(early, image_of({{"size", "1024x1024"}})), "size");
}

TEST(GeminiImageWire, ImagenGetsARequestToPredict) {
  const ImageRequest request =
      image_of({{"size", "2048x2048"}, {"output_format", "jpeg"}, {"output_compression", 80}}, 3);
  const WireRequest wire = image_request(imagen(), request);
  EXPECT_EQ(wire.path, "/v1beta/models/imagen-4.0-generate-001:predict");
  EXPECT_EQ(Json::parse(wire.body), Json::parse(R"({
      "instances": [{"prompt": "a mill"}],
      "parameters": {"sampleCount": 3, "aspectRatio": "1:1", "sampleImageSize": "2K", "includeRaiReason": true,
                     "outputOptions": {"mimeType": "image/jpeg", "compressionQuality": 80}}})"));
  EXPECT_TRUE(wire.dropped.empty());
}

TEST(GeminiImageWire, ASizeIsTheNearestShapeAndIsReportedUnlessItIsThatManyPixels) {
  struct Case {
    const char *model, *size, *shape, *thousands, *reported;
  };
  for (const Case& each : {
           Case{"gemini-2.5-flash-image", "1024x1024", "1:1", "", ""},
           Case{"gemini-2.5-flash-image", "1024x1536", "2:3", "", "size;clamped"},
           Case{"gemini-2.5-flash-image", "1792x1024", "16:9", "", "size;clamped"},
           Case{"gemini-2.5-flash-image", "1024x1792", "9:16", "", "size;clamped"},
           Case{"gemini-2.5-flash-image", "2048x2048", "1:1", "", "size;clamped"},
           Case{"gemini-2.5-flash-image", "256x256", "1:1", "", "size;clamped"},
           Case{"gemini-3-pro-image-preview", "4096x4096", "1:1", "4K", ""},
           Case{"gemini-3-pro-image-preview", "1536x1024", "3:2", "1K", "size;clamped"},
           Case{"imagen-4.0-generate-001", "1536x1024", "4:3", "1K", "size;clamped"},
           Case{"imagen-4.0-generate-001", "4096x4096", "1:1", "2K", "size;clamped"},
           Case{"imagen-4.0-fast-generate-001", "1024x1024", "1:1", "", ""},
       }) {
    const Target target = target_of("gemini", each.model);
    const Json body = body_of(target, image_of({{"size", each.size}}));
    const bool predicts = body.contains("parameters");
    const Json config = predicts ? body["parameters"] : body["generationConfig"]["imageConfig"];
    EXPECT_EQ(config.value("aspectRatio", ""), each.shape) << each.model << " " << each.size;
    EXPECT_EQ(config.value(predicts ? "sampleImageSize" : "imageSize", ""), each.thousands) << each.size;
    EXPECT_EQ(dropped(target, image_of({{"size", each.size}})), each.reported)
        << each.model << " " << each.size;
  }
  for (const char* none : {"large", "0x5", "5x", "x", "1024x1024x1", "99999x1"})
    EXPECT_EQ(dropped(drawing(), image_of({{"size", none}})), "size") << none;
}

TEST(GeminiImageWire, WhatIsNotSentIsReportedAndDefaultsAreNot) {
  const Json others = {{"quality", "high"},       {"style", "vivid"},   {"background", "opaque"},
                       {"moderation", "low"},     {"user", "u"},        {"output_format", "webp"},
                       {"output_compression", 5}, {"nobody_knows", "1"}};
  const std::string all =
      "quality, style, background, moderation, user, output_format, output_compression, "
      "nobody_knows";
  EXPECT_EQ(dropped(drawing(), image_of(others)), all);
  EXPECT_EQ(dropped(imagen(), image_of(others)), all);
  const Json left = {{"size", "auto"}, {"quality", "auto"}, {"background", "auto"}, {"moderation", "auto"}};
  EXPECT_EQ(dropped(drawing(), image_of(left)), "");
  EXPECT_EQ(body_of(drawing(), image_of(left)), body_of(drawing(), image_of()));
}

TEST(GeminiImageWire, SeveralImagesAreSeveralCalls) {
  EXPECT_EQ(image_calls(drawing(), image_of({}, 3)), 3);
  EXPECT_EQ(dropped(drawing(), image_of({}, 3)), "n;emulated");
  EXPECT_EQ(image_calls(imagen(), image_of({}, 4)), 1);
  EXPECT_EQ(image_calls(imagen(), image_of({}, 10)), 3);
  EXPECT_EQ(body_of(imagen(), image_of({}, 10), 1)["parameters"]["sampleCount"], 4);
  EXPECT_EQ(body_of(imagen(), image_of({}, 10), 2)["parameters"]["sampleCount"], 2);
  ImageRequest streamed = image_of();
  streamed.stream = true;
  streamed.partial_images = 2;
  EXPECT_EQ(dropped(drawing(), streamed), "stream;emulated, partial_images");
}

TEST(GeminiImageWire, TheImageOfAnAnswerIsReadAndWhatWasDrawnWhileThinkingIsNot) {
  const auto reply = image_reply(drawing(), R"({
      "candidates": [{"content": {"role": "model", "parts": [
          {"thought": true, "inlineData": {"mimeType": "image/png", "data": "bm8="}},
          {"text": "Here it is"}, {"inlineData": {"mimeType": "image/jpeg", "data": "QQ=="}}]},
        "finishReason": "STOP"}],
      "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 1290, "thoughtsTokenCount": 10,
          "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 7}]}})");
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(reply->images.size(), 1u);
  EXPECT_EQ(reply->images[0].b64_json, "QQ==");
  EXPECT_EQ(reply->extra, (Json{{"output_format", "jpeg"}}));
  EXPECT_EQ(reply->usage->input, 7);
  EXPECT_EQ(reply->usage->output, 1300);
  EXPECT_EQ(reply->usage->input_details, (Json{{"text_tokens", 7}, {"image_tokens", 0}}));
}

TEST(GeminiImageWire, PredictionsAreReadBesideThoseThatWereFiltered) {
  const auto reply = image_reply(imagen(), R"({"predictions": [
      {"mimeType": "image/png", "bytesBase64Encoded": "QQ==", "prompt": "a better mill"},
      {"raiFilteredReason": "violence"}, {"mimeType": "image/png", "bytesBase64Encoded": "Qg=="}]})");
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(reply->images.size(), 2u);
  EXPECT_EQ(reply->images[0].revised_prompt, "a better mill");
  EXPECT_EQ(reply->images[1].b64_json, "Qg==");
  EXPECT_FALSE(reply->usage);
}

TEST(GeminiImageWire, WhatAFilterRefusesIsTheRequestsFaultAndNamesTheReason) {
  const base::Error prompt =
      fault_of(drawing(), {{"promptFeedback", {{"blockReason", "PROHIBITED_CONTENT"}}}});
  EXPECT_EQ(prompt.code, base::Code::kBadRequest);
  EXPECT_EQ(prompt.param, "prompt");
  EXPECT_NE(prompt.message.find("PROHIBITED_CONTENT"), std::string::npos);
  const base::Error drawn = fault_of(
      drawing(), {{"candidates", {{{"finishReason", "IMAGE_SAFETY"}, {"finishMessage", "not this"}}}}});
  EXPECT_EQ(drawn.code, base::Code::kBadRequest);
  EXPECT_NE(drawn.message.find("(IMAGE_SAFETY): not this"), std::string::npos) << drawn.message;
  const base::Error all = fault_of(imagen(), {{"predictions", {{{"raiFilteredReason", "code 5"}}}}});
  EXPECT_EQ(all.code, base::Code::kBadRequest);
  EXPECT_NE(all.message.find("code 5"), std::string::npos);
}

TEST(GeminiImageWire, AnAnswerWithoutAnImageIsTheProvidersFault) {
  const Json talk = {
      {"candidates",
       {{{"content", {{"parts", {{{"text", "I would rather not"}}}}}}, {"finishReason", "STOP"}}}}};
  const base::Error error = fault_of(drawing(), talk);
  EXPECT_EQ(error.code, base::Code::kUpstream);
  EXPECT_NE(error.message.find("I would rather not"), std::string::npos);
  EXPECT_EQ(fault_of(imagen(), Json::object()).code, base::Code::kUpstream);
  for (const char* body :
       {"", "[]", "7", R"({"candidates":[]})", R"({"candidates":[7]})", R"({"candidates":7})"})
    EXPECT_FALSE(image_reply(drawing(), body)) << body;
  EXPECT_FALSE(image_reply(imagen(), R"({"predictions":[7]})"));
  const base::Error limited =
      fault_of(imagen(), {{"error", {{"code", 429}, {"message", "slow"}, {"status", "RESOURCE_EXHAUSTED"}}}});
  EXPECT_EQ(limited.code, base::Code::kRateLimited);
}

}  // namespace
}  // namespace millrace::providers::gemini_image_wire_test

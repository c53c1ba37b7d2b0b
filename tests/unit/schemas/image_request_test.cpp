#include <gtest/gtest.h>

#include "schemas/media/image.h"

namespace millrace::schemas::image_request_test {
namespace {

using schemas::Json;

tl::expected<ImageRequest, Refusal> parse(Json body) {
  body.emplace("prompt", "a mill");
  std::string text = body.dump();
  return parse_image_request(text);
}

// The first field that the model's row refuses; empty: none.
std::string refused(std::string_view model, const Json& body) {
  const auto request = parse(body);
  EXPECT_TRUE(request.has_value()) << body;
  if (!request) return "not parsed";
  const Problems problems = image_problems(*request, model);
  return problems.empty() ? "" : problems.front().loc.back();
}

TEST(ImageRequest, SomeParametersNeedAGptImageModel) {
  EXPECT_EQ(parse(Json::object())->model, "");
  EXPECT_FALSE(needs_gpt_image(*parse(Json::object())));
  EXPECT_FALSE(needs_gpt_image(*parse({{"stream", false}, {"style", "vivid"}, {"quality", "hd"}})));
  for (const Json& own :
       {Json{{"stream", true}}, Json{{"moderation", "low"}}, Json{{"output_format", "png"}},
        Json{{"background", "auto"}}, Json{{"partial_images", 1}}, Json{{"output_compression", 5}}})
    EXPECT_TRUE(needs_gpt_image(*parse(own))) << own;
  EXPECT_EQ(parse({{"model", "m"}})->model, "m");
}

TEST(ImageRequest, WhatIsNoneIsRefusedByItsField) {
  for (const auto& [field, value] : std::vector<std::pair<std::string, Json>>{{"n", 0},
                                                                              {"n", 11},
                                                                              {"partial_images", 4},
                                                                              {"output_compression", 101},
                                                                              {"output_format", "gif"},
                                                                              {"background", "red"},
                                                                              {"moderation", "high"},
                                                                              {"response_format", "png"},
                                                                              {"prompt", ""}}) {
    const auto request = parse({{field, value}});
    ASSERT_FALSE(request) << field;
    EXPECT_EQ(request.error().problems.front().loc.back(), field);
  }
  std::string none = "{}";
  EXPECT_EQ(parse_image_request(none).error().problems.front().loc.back(), "prompt");
}

TEST(ImageRequest, WhatIsTheModelsOwnBusinessIsKeptAsItWasGiven) {
  const auto request = parse({{"size", "auto"}, {"seed", 4}, {"style", nullptr}, {"n", 2}, {"stream", true}});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->rest, (Json{{"size", "auto"}, {"seed", 4}}));
  EXPECT_EQ(request->n, 2);
}

TEST(ImageRequest, EachModelsRowHasItsSizesAndQualities) {
  EXPECT_EQ(refused("dall-e-2", {{"size", "256x256"}, {"quality", "standard"}}), "");
  EXPECT_EQ(refused("dall-e-2", {{"size", "auto"}}), "size");
  EXPECT_EQ(refused("dall-e-3", {{"size", "1024x1792"}, {"quality", "hd"}, {"style", "natural"}}), "");
  EXPECT_EQ(refused("dall-e-3", {{"size", "512x512"}}), "size");
  EXPECT_EQ(refused("dall-e-3", {{"style", "wild"}}), "style");
  EXPECT_EQ(refused("gpt-image-1", {{"size", "auto"}, {"quality", "low"}}), "");
  EXPECT_EQ(refused("gpt-image-1-mini", {{"quality", "hd"}}), "quality");
  EXPECT_EQ(refused("gpt-image-1", {{"style", "vivid"}}), "style");
}

TEST(ImageRequest, PromptsAreCountedInCharacters) {
  std::string accents;
  for (int i = 0; i < 1000; ++i) accents += "é";
  EXPECT_EQ(refused("dall-e-2", {{"prompt", accents}}), "");
  EXPECT_EQ(refused("dall-e-2", {{"prompt", accents + "e"}}), "prompt");
}

TEST(ImageRequest, CompressionAndTransparencyNeedAFormatThatHasThem) {
  EXPECT_EQ(refused("gpt-image-1", {{"output_compression", 9}}), "output_compression");
  EXPECT_EQ(refused("gpt-image-1", {{"output_compression", 9}, {"output_format", "webp"}}), "");
  EXPECT_EQ(refused("gpt-image-1", {{"background", "transparent"}, {"output_format", "jpeg"}}), "background");
  EXPECT_EQ(refused("gpt-image-1", {{"background", "transparent"}}), "");
}

TEST(ImageRequest, AnUnknownModelHasNoRules) {
  EXPECT_EQ(refused("draw", {{"size", "7x7"}, {"style", "wild"}, {"stream", true}, {"n", 10}}), "");
  EXPECT_EQ(refused("gpt-image-2", {{"size", "2048x1152"}, {"response_format", "b64_json"}}), "");
}

TEST(ImageRequest, ImagesComeByUrlUnlessTheModelOrTheClientSaysBase64) {
  EXPECT_TRUE(images_by_url(*parse(Json::object()), "dall-e-3"));
  EXPECT_FALSE(images_by_url(*parse({{"response_format", "b64_json"}}), "dall-e-3"));
  EXPECT_TRUE(images_by_url(*parse({{"response_format", "url"}}), "gpt-image-2"));
  for (const char* model : {"gpt-image-1", "gpt-image-1-mini", "gpt-image-2", "chatgpt-image-latest"})
    EXPECT_FALSE(images_by_url(*parse(Json::object()), model)) << model;
  EXPECT_FALSE(images_by_url(*parse({{"stream", true}}), "draw"));
}

}  // namespace
}  // namespace millrace::schemas::image_request_test

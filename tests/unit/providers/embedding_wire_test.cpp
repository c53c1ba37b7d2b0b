#include <cmath>

#include <gtest/gtest.h>

#include "ai/providers/gemini/media.h"
#include "ai/providers/media.h"
#include "ai/providers/mock/media.h"
#include "tests/unit/providers/openai_cases.h"

namespace millrace::providers::embedding_wire_test {
namespace {

using schemas::EmbeddingRequest;
using schemas::Json;
using schemas::Vector;
using testing::target_of;

EmbeddingRequest texts(std::vector<std::string> inputs) {
  EmbeddingRequest request;
  request.model = "m";
  request.texts = std::move(inputs);
  return request;
}

WireRequest sent(const Target& target, const EmbeddingRequest& request) {
  auto wire = embedding_request(target, {request, 0, request.inputs()});
  EXPECT_TRUE(wire.has_value());
  return wire ? *std::move(wire) : WireRequest{};
}

Json body_of(const WireRequest& wire) { return Json::parse(wire.body); }

base::Result<schemas::EmbeddingReply> read(std::string_view provider, const std::string& body,
                                           std::size_t inputs) {
  return embedding_reply(target_of(provider, "m"), body, inputs);
}

TEST(EmbeddingWire, PackedFloatsAreRequestedOfOpenaiAlone) {
  const WireRequest wire = sent(target_of("openai", "text-embedding-3-small"), texts({"a\"\n", "é"}));
  EXPECT_EQ(wire.path, "/embeddings");
  EXPECT_EQ(
      body_of(wire),
      (Json{{"model", "text-embedding-3-small"}, {"input", {"a\"\n", "é"}}, {"encoding_format", "base64"}}));
  EXPECT_FALSE(body_of(sent(target_of("vllm", "e"), texts({"a"}))).contains("encoding_format"));
}

TEST(EmbeddingWire, TokensDimensionsUserAndUnknownFieldsAreSentToOpenai) {
  EmbeddingRequest request;
  request.tokens = {{1, 2}, {3}};
  request.dimensions = 8;
  request.user = std::string(70, 'u');
  request.extra = {{"truncate", true}};
  const WireRequest wire = sent(target_of("openai", "m"), request);
  const Json body = body_of(wire);
  EXPECT_EQ(body["input"], (Json{{1, 2}, {3}}));
  EXPECT_EQ(body["dimensions"], 8);
  EXPECT_EQ(body["user"], std::string(64, 'u'));
  EXPECT_EQ(body["truncate"], true);
  EXPECT_EQ(schemas::dropped_text(wire.dropped), "user;clamped");
}

TEST(EmbeddingWire, MistralHasItsOwnWordForDimensionsAndNoUser) {
  EmbeddingRequest request = texts({"a"});
  request.dimensions = 8;
  request.user = "u";
  const WireRequest wire = sent(target_of("mistral", "codestral-embed"), request);
  EXPECT_EQ(body_of(wire), (Json{{"model", "codestral-embed"}, {"input", {"a"}}, {"output_dimension", 8}}));
  EXPECT_EQ(schemas::dropped_text(wire.dropped), "user");
}

TEST(EmbeddingWire, GeminiGetsABatchAndUnsupportedParametersAreReported) {
  EmbeddingRequest request = texts({"a", "b", "c"});
  request.dimensions = 8;
  request.user = "u";
  request.extra = {{"truncate", true}};
  const auto wire = embedding_request(target_of("gemini", "text-embedding-004"), {request, 1, 2});
  ASSERT_TRUE(wire);
  EXPECT_EQ(wire->path, "/v1beta/models/text-embedding-004:batchEmbedContents");
  const Json body = body_of(*wire);
  ASSERT_EQ(body["requests"].size(), 2u);
  EXPECT_EQ(body["requests"][0], (Json{{"model", "models/text-embedding-004"},
                                       {"content", {{"parts", {{{"text", "b"}}}}}},
                                       {"outputDimensionality", 8}}));
  EXPECT_EQ(schemas::dropped_text(wire->dropped), "user, truncate");
}

TEST(EmbeddingWire, VectorsComeInTheOrderOfTheirIndexInEitherEncoding) {
  const std::string body =
      R"({"id":"e","model":"returned","usage":{"prompt_tokens":5,"total_tokens":6},"data":[
      {"index":1,"embedding":[0.5,-1e-3]},{"index":0,"embedding":")" +
      schemas::packed_vector({0.25F, 2}) + R"("}]})";
  const auto reply = read("openai", body, 2);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->vectors, (std::vector<Vector>{{0.25F, 2}, {0.5F, -1e-3F}}));
  EXPECT_EQ(reply->id, "e");
  EXPECT_EQ(reply->model, "returned");
  EXPECT_EQ(reply->prompt_tokens, 5);
  EXPECT_EQ(reply->total_tokens, 6);
}

TEST(EmbeddingWire, GeminiVectorsComeInTheirOrder) {
  const auto reply =
      read("gemini",
           R"({"embeddings":[{"values":[1,2]},{"values":[3]}],"usageMetadata":{"promptTokenCount":4}})", 2);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->vectors, (std::vector<Vector>{{1, 2}, {3}}));
  EXPECT_EQ(reply->prompt_tokens, 4);
}

TEST(EmbeddingWire, WhatIsNotOneVectorForEachInputIsNoReply) {
  for (const char* body : {"", "[]", "{}", R"({"data":[]})", R"({"data":[{"embedding":[]}]})",
                           R"({"data":[{"embedding":["x"]}]})", R"({"data":[{"embedding":[[1]]}]})",
                           R"({"data":[{"embedding":[1],"index":7}]})", R"({"data":[{"embedding":"AAA"}]})",
                           R"({"data":[{"embedding":[1]},{"embedding":[1]}]})",
                           R"({"data":[{"embedding":[1e999]}]})", R"({"data":[{"embedding":[1]})"}) {
    const auto reply = read("openai", body, 1);
    ASSERT_FALSE(reply) << body;
    EXPECT_EQ(reply.error().code, base::Code::kUpstream) << body;
  }
  EXPECT_FALSE(read("gemini", R"({"embeddings":[{"values":[1]}]})", 2));
  EXPECT_FALSE(read("gemini", R"({"embeddings":[{"values":[1]},{"values":[]}]})", 2));
}

TEST(EmbeddingWire, AnErrorInsideA200IsAnError) {
  const auto openai = read("openai", R"({"error":{"message":"no luck","code":429}})", 1);
  ASSERT_FALSE(openai);
  EXPECT_EQ(openai.error().code, base::Code::kRateLimited);
  EXPECT_NE(openai.error().message.find("no luck"), std::string::npos);
  const auto gemini = read("gemini", R"({"error":{"message":"no luck","code":503}})", 1);
  ASSERT_FALSE(gemini);
  EXPECT_EQ(gemini.error().code, base::Code::kOverloaded);
}

TEST(EmbeddingWire, AProviderWithoutEmbeddingsIsRefused) {
  EXPECT_TRUE(no_embeddings(target_of("anthropic", "m")));
  EXPECT_FALSE(no_embeddings(target_of("openai", "m")));
  EXPECT_FALSE(no_embeddings(target_of("gemini", "m")));
}

TEST(EmbeddingWire, OnlySomeProvidersTakeTokens) {
  EXPECT_TRUE(supports_token_input(target_of("openai", "m")));
  EXPECT_TRUE(supports_token_input(target_of("vllm", "m")));
  for (const char* provider : {"gemini", "mistral", "ollama"})
    EXPECT_FALSE(supports_token_input(target_of(provider, "m")));
}

TEST(MockEmbedding, TheSameInputHasTheSameVectorOfLengthOne) {
  EmbeddingRequest request = texts({"one", "two", "one"});
  const auto reply = mock_embedding(target_of("mock", "embedding"), {request, 0, 3});
  ASSERT_EQ(reply.vectors.size(), 3u);
  EXPECT_EQ(reply.vectors[0], reply.vectors[2]);
  EXPECT_NE(reply.vectors[0], reply.vectors[1]);
  EXPECT_EQ(reply.vectors[0].size(), static_cast<std::size_t>(kMockDimensions));
  double squares = 0;
  for (const float each : reply.vectors[1]) squares += double{each} * each;
  EXPECT_NEAR(squares, 1, 1e-6);
  EXPECT_EQ(reply.prompt_tokens, 3);
}

TEST(MockEmbedding, DimensionsAreHonoured) {
  EmbeddingRequest request;
  request.tokens = {{1, 2}};
  request.dimensions = 3;
  EXPECT_EQ(mock_embedding(target_of("mock", "embedding"), {request, 0, 1}).vectors[0].size(), 3u);
}

}  // namespace
}  // namespace millrace::providers::embedding_wire_test

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "schemas/chat/embedding.h"

namespace millrace::schemas::embedding_reply_test {
namespace {

using schemas::Json;

const Vector kNumbers{0.1F,
                      -1.0F / 3.0F,
                      1e-8F,
                      -0.0F,
                      16777216.0F,
                      std::numeric_limits<float>::denorm_min(),
                      std::numeric_limits<float>::max()};

EmbeddingReply reply() {
  EmbeddingReply out;
  out.id = "embd-1";
  out.model = "m";
  out.vectors = {kNumbers, {0.5F}};
  out.prompt_tokens = 3;
  out.total_tokens = 4;
  return out;
}

bool same_bits(const Vector& a, const Vector& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  });
}

TEST(EmbeddingReply, ItHasTheShapeThatClientsKnow) {
  const Json body = Json::parse(embedding_reply_json(reply(), false));
  EXPECT_EQ(body["object"], "list");
  EXPECT_EQ(body["id"], "embd-1");
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["usage"], (Json{{"prompt_tokens", 3}, {"total_tokens", 4}}));
  EXPECT_EQ(body["data"][1], (Json{{"object", "embedding"}, {"index", 1}, {"embedding", {0.5}}}));
}

TEST(EmbeddingReply, BothEncodingsSayTheSameFloatsBitByBit) {
  const Json said = Json::parse(embedding_reply_json(reply(), false))["data"][0]["embedding"];
  const Json packed = Json::parse(embedding_reply_json(reply(), true))["data"][0]["embedding"];
  const auto unpacked = unpacked_vector(packed.get<std::string>());
  ASSERT_TRUE(unpacked);
  EXPECT_TRUE(same_bits(*unpacked, kNumbers));
  EXPECT_TRUE(same_bits(said.get<Vector>(), kNumbers));
}

TEST(EmbeddingReply, PackedFloatsAreLittleEndian) { EXPECT_EQ(packed_vector({1.0F, -2.0F}), "AACAPwAAAMA="); }

TEST(EmbeddingReply, WhatIsNoPackedVectorOfFiniteNumbersIsRefused) {
  EXPECT_FALSE(unpacked_vector("AACAPwA="));
  EXPECT_FALSE(unpacked_vector("!"));
  EXPECT_FALSE(unpacked_vector(packed_vector({std::numeric_limits<float>::infinity()})));
  EXPECT_FALSE(unpacked_vector(packed_vector({std::nanf("")})));
}

}  // namespace
}  // namespace millrace::schemas::embedding_reply_test

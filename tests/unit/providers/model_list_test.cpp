#include "ai/providers/model_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::providers::model_list_test {
namespace {

using ::testing::Contains;
using ::testing::Pair;

Target target(const char* provider) {
  Target out;
  out.preset = preset_named(provider);
  out.base_url = "http://127.0.0.1:1/base";
  out.key = base::Secret("k");
  return out;
}

TEST(ModelList, EachFamilyGetsItsRequestAtItsOwnPathWithItsOwnKeyHeader) {
  EXPECT_EQ(model_list_request(target("openai")).url, "http://127.0.0.1:1/base/models");
  EXPECT_EQ(model_list_request(target("openai")).method, "GET");
  EXPECT_THAT(model_list_request(target("mistral")).headers, Contains(Pair("Authorization", "Bearer k")));
  const net::HttpRequest anthropic = model_list_request(target("anthropic"));
  EXPECT_EQ(anthropic.url, "http://127.0.0.1:1/base/v1/models?limit=1000");
  EXPECT_THAT(anthropic.headers, Contains(Pair("anthropic-version", "2023-06-01")));
  EXPECT_EQ(model_list_request(target("gemini")).url, "http://127.0.0.1:1/base/v1beta/models?pageSize=1000");
}

TEST(ModelList, AListOfOpenaisFormIsRead) {
  const auto list = read_model_list(
      target("openai"),
      R"({"object":"list","data":[{"id":"gpt-x","object":"model","created":1700000000,"owned_by":"system"},{"id":7}]})");
  ASSERT_TRUE(list.has_value());
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->front().id, "gpt-x");
  EXPECT_EQ(list->front().created, 1'700'000'000);
  EXPECT_EQ(list->front().owned_by, "system");
}

TEST(ModelList, AListOfAnthropicsFormHasNamesAndTimes) {
  const auto list = read_model_list(
      target("anthropic"),
      R"({"data":[{"type":"model","id":"claude-x","display_name":"Claude X","created_at":"2025-02-19T00:00:00Z"}]})");
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(list->front().display_name, "Claude X");
  EXPECT_EQ(list->front().created, 1'739'923'200);
}

TEST(ModelList, AListOfGeminisFormHasItsNamesWithAPrefix) {
  const auto list = read_model_list(target("gemini"),
                                    R"({"models":[{"name":"models/gemini-x","displayName":"Gemini X"}]})");
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(list->front().id, "gemini-x");
  EXPECT_EQ(list->front().display_name, "Gemini X");
}

TEST(ModelList, WhatIsNoListIsTheProvidersFault) {
  for (const char* body : {"", "<html>", "{}", R"({"data":{}})", "[]"})
    EXPECT_EQ(read_model_list(target("openai"), body).error().code, base::Code::kUpstream) << body;
}

}  // namespace
}  // namespace millrace::providers::model_list_test

#include <string>

#include <gtest/gtest.h>

#include "ai/providers/openai/reply.h"
#include "ai/providers/openai/stream.h"
#include "tests/unit/providers/openai_cases.h"

namespace millrace::providers::openai_quick_test {
namespace {

using schemas::Json;
using testing::target_of;

Json usual() {
  return Json::parse(
      R"({"id":"c-1","object":"chat.completion","created":1700000000,"model":"m","service_tier":null,
    "system_fingerprint":"fp","choices":[{"index":0,"message":{"role":"assistant","content":"gr\u00fc\u00dfe \"du\"\n",
    "refusal":null,"tool_calls":[]},"logprobs":null,"finish_reason":"length"}],
    "usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21,"prompt_tokens_details":{"cached_tokens":3},
    "completion_tokens_details":{"reasoning_tokens":4}}})");
}

TEST(OpenaiQuick, ReadsAUsualReplyAsTheTreeReaderDoes) {
  const Target target = target_of("openai", "gpt-4o");
  Json by_tree = usual();
  by_tree["kept_as_it_is"] = 1;
  ASSERT_TRUE(quick_reply(usual().dump()));
  ASSERT_FALSE(quick_reply(by_tree.dump()));
  const auto quick = openai_reply(target, usual().dump());
  const auto slow = openai_reply(target, by_tree.dump());
  ASSERT_TRUE(quick);
  ASSERT_TRUE(slow);
  EXPECT_EQ(slow->id, quick->id);
  EXPECT_EQ(slow->created, quick->created);
  EXPECT_EQ(slow->model, quick->model);
  EXPECT_EQ(slow->usage, quick->usage);
  EXPECT_EQ(slow->system_fingerprint, quick->system_fingerprint);
  ASSERT_EQ(1U, quick->choices.size());
  EXPECT_EQ(slow->choices[0].content, quick->choices[0].content);
  EXPECT_EQ(slow->choices[0].refusal, quick->choices[0].refusal);
  EXPECT_EQ(slow->choices[0].finish_reason, quick->choices[0].finish_reason);
}

TEST(OpenaiQuick, WhatIsNotUsualIsLeftToTheTree) {
  const auto with = [](const Json::json_pointer& at, Json value) {
    Json reply = usual();
    reply[at] = std::move(value);
    return quick_reply(reply.dump()).has_value();
  };
  using At = Json::json_pointer;
  EXPECT_TRUE(with(At("/unknown"), nullptr));
  EXPECT_TRUE(with(At("/choices/0/message/reasoning_content"), "why"));
  EXPECT_FALSE(with(At("/error"), {{"message", "no"}}));
  EXPECT_FALSE(with(At("/object"), "error"));
  EXPECT_FALSE(with(At("/choices/1"), {{"index", 1}}));
  EXPECT_FALSE(with(At("/choices/0/index"), -1));
  EXPECT_FALSE(with(At("/choices/0/index"), 0.5));
  EXPECT_FALSE(with(At("/choices/0/logprobs"), {{"content", {1}}}));
  EXPECT_FALSE(with(At("/choices/0/message/content"), {{{"type", "text"}}}));
  EXPECT_FALSE(with(At("/choices/0/message/tool_calls"), {{{"id", "x"}}}));
  EXPECT_FALSE(with(At("/choices/0/message/annotations"), {1}));
  EXPECT_FALSE(with(At("/usage/prompt_cache_hit_tokens"), 3));
  EXPECT_FALSE(with(At("/usage/prompt_tokens"), 1.5));
  for (const char* text :
       {"", "[]", "{", "null", "{\"id\":}", R"({"id":"\ud83d\ude00"})", R"({"id":"\uD83D"})"})
    EXPECT_FALSE(quick_reply(text)) << text;
}

}  // namespace
}  // namespace millrace::providers::openai_quick_test

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/cpu_time.h"
#include "tests/unit/providers/family_cases.h"

// The ids of tool calls in a conversation that clients send back, in the format of each provider.
namespace millrace::providers::call_ids_test {
namespace {

using schemas::Json;
using testing::kTargets;
using testing::sent_of;
using testing::target_of;

constexpr const char* kVllmId = "chatcmpl-tool-0123456789abcdef0123456789abcdef";

Json called(const std::vector<std::string>& ids) {
  Json calls = Json::array();
  for (const std::string& id : ids)
    calls.push_back({{"id", id}, {"type", "function"}, {"function", {{"name", "f"}, {"arguments", "{}"}}}});
  return {{"role", "assistant"}, {"content", "c"}, {"tool_calls", std::move(calls)}};
}

Json result_of(const std::string& id, const std::string& text) {
  return {{"role", "tool"}, {"tool_call_id", id}, {"content", text}};
}

// Two turns with the same ids, one of them twice in its turn, and an id that is too long for OpenAI.
std::string repeated_ids() {
  return Json{{"messages",
               {{{"role", "user"}, {"content", "u"}},
                called({"call_0", kVllmId}),
                result_of("call_0", "r1"),
                result_of(kVllmId, "r2"),
                called({"call_0", "call_0"}),
                result_of("call_0", "r3"),
                result_of("call_0", "r4")}}}
      .dump();
}

// The ids of calls and of results in the order of the conversation, in the format of each family.
struct SentIds {
  std::vector<std::string> calls, results;
};

SentIds ids_of(const Target& target, const std::string& body) {
  SentIds ids;
  const Json wire = sent_of(target, body);
  if (target.preset->family == Family::kGemini) {
    for (const Json& turn : wire["contents"])
      for (const Json& part : turn["parts"]) {
        if (part.contains("functionCall")) ids.calls.push_back(part["functionCall"]["id"]);
        if (part.contains("functionResponse")) ids.results.push_back(part["functionResponse"]["id"]);
      }
    return ids;
  }
  for (const Json& message : wire["messages"]) {
    if (message.contains("tool_call_id")) ids.results.push_back(message["tool_call_id"]);
    for (const Json& call : message.value("tool_calls", Json::array())) ids.calls.push_back(call["id"]);
    if (target.preset->family != Family::kAnthropic) continue;
    for (const Json& block : message["content"]) {
      if (block["type"] == "tool_use") ids.calls.push_back(block["id"]);
      if (block["type"] == "tool_result") ids.results.push_back(block["tool_use_id"]);
    }
  }
  return ids;
}

TEST(CallIds, EachCallOfAConversationHasItsOwnAndItsResultHasTheSame) {
  for (const Target& target : kTargets) {
    const SentIds ids = ids_of(target, repeated_ids());
    ASSERT_EQ(ids.calls.size(), 4U) << target.name;
    EXPECT_EQ(ids.calls, ids.results) << target.name;
    const bool is_kept = target.preset->dialect == Dialect::kLocal && target.preset->name != "openrouter";
    const std::set<std::string> different(ids.calls.begin(), ids.calls.end());
    EXPECT_EQ(different.size(), is_kept ? 2U : 4U) << target.name;
  }
}

TEST(CallIds, HaveTheFormOfTheirProvider) {
  for (const std::size_t at : {0, 1, 8})
    for (const std::string& id : ids_of(kTargets[at], repeated_ids()).calls) EXPECT_LE(id.size(), 40U) << id;
  for (const std::string& id : ids_of(kTargets[3], repeated_ids()).calls) EXPECT_EQ(id.size(), 9U) << id;
  for (const std::size_t at : {2, 5, 6, 7, 9, 10})
    EXPECT_EQ(ids_of(kTargets[at], repeated_ids()).calls[1], kVllmId) << kTargets[at].name;
}

TEST(CallIds, OfTheBeginningStayTheSameInALongerConversation) {
  Json longer = Json::parse(repeated_ids());
  longer["messages"].push_back(called({"call_0"}));
  longer["messages"].push_back(result_of("call_0", "r5"));
  for (const Target& target : kTargets) {
    const SentIds before = ids_of(target, repeated_ids());
    SentIds after = ids_of(target, longer.dump());
    ASSERT_EQ(after.calls.size(), 5U);
    EXPECT_EQ(after.calls, after.results);
    after.calls.pop_back();
    EXPECT_EQ(after.calls, before.calls) << target.name;
  }
}

TEST(CallIds, AResultWithoutACallHasTheFormOfItsProviderToo) {
  const std::string body =
      Json{{"messages", {{{"role", "user"}, {"content", "u"}}, result_of(kVllmId, "r")}}}.dump();
  EXPECT_LE(ids_of(kTargets[0], body).results.at(0).size(), 40U);
  EXPECT_EQ(ids_of(kTargets[3], body).results.at(0).size(), 9U);
  EXPECT_EQ(ids_of(kTargets[9], body).results.at(0), kVllmId);
}

TEST(CallIds, ManyRepeatedOnesAreFittedInShortTime) {
  Json request = {{"messages", {{{"role", "user"}, {"content", "u"}}}}};
  request["messages"].push_back(called(std::vector<std::string>(20'000, "call_0")));
  SentIds ids;
  EXPECT_LT(support::cpu_seconds([&] { ids = ids_of(kTargets[0], request.dump()); }), 10);
  EXPECT_EQ(std::set<std::string>(ids.calls.begin(), ids.calls.end()).size(), 20'000U);
}

}  // namespace
}  // namespace millrace::providers::call_ids_test

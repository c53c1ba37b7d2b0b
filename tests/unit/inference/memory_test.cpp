#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "ai/inference/chat/reasoning_state.h"
#include "ai/inference/chat/tool_box.h"
#include "ai/inference/chat/tool_loop.h"
#include "ai/inference/routing/price.h"

namespace millrace::inference {
namespace {

using schemas::ChatPiece;
using schemas::Json;
using schemas::kReasoningStateMember;

schemas::ChatRequest after_call(const std::string& id) {
  schemas::ChatRequest request;
  request.tenant = "team";
  request.body["messages"] = {{{"role", "user"}, {"content", "x"}},
                              {{"role", "assistant"}, {"tool_calls", {{{"id", id}}}}}};
  return request;
}

TEST(ReasoningStateCache, IsFilledInForTheProviderThatSentItAndRemovedForAnother) {
  ReasoningStateCache memory(1 << 20);
  memory.remember({"team", "call_2"}, "anthropic", "signed");
  auto request = after_call("call_2");
  memory.fill(request, "anthropic");
  EXPECT_EQ("signed", request.body["messages"][1][kReasoningStateMember]);
  memory.fill(request, "gemini");
  EXPECT_FALSE(request.body["messages"][1].contains(kReasoningStateMember));
  auto unknown = after_call("call_3");
  memory.fill(unknown, "anthropic");
  EXPECT_FALSE(unknown.body["messages"][1].contains(kReasoningStateMember));
}

TEST(ReasoningStateCache, IsNeverAnotherTenants) {
  ReasoningStateCache memory(1 << 20);
  memory.remember({"team", "call_1"}, "anthropic", "signed");
  memory.remember({"others", "call_1"}, "anthropic", "of others");
  auto ours = after_call("call_1"), nobodys = after_call("call_1");
  nobodys.tenant = "nobody";
  memory.fill(ours, "anthropic");
  memory.fill(nobodys, "anthropic");
  EXPECT_EQ("signed", ours.body["messages"][1][kReasoningStateMember]);
  EXPECT_FALSE(nobodys.body["messages"][1].contains(kReasoningStateMember));
}

TEST(ReasoningStateCache, TheLeastUsedIsForgottenAtTheBound) {
  ReasoningStateCache memory(2'000);
  memory.remember({"team", "a"}, "p", std::string(500, 's'));
  memory.remember({"team", "b"}, "p", std::string(500, 's'));
  auto used = after_call("a");
  memory.fill(used, "p");
  memory.remember({"team", "c"}, "p", std::string(500, 's'));
  EXPECT_LE(memory.bytes(), 2'000u);
  auto a = after_call("a"), b = after_call("b");
  memory.fill(a, "p");
  memory.fill(b, "p");
  EXPECT_TRUE(a.body["messages"][1].contains(kReasoningStateMember));
  EXPECT_FALSE(b.body["messages"][1].contains(kReasoningStateMember));
}

// Some providers number their calls anew in each conversation.
TEST(ReasoningStateCache, ACallWithTheIdOfAnotherConversationGetsNothing) {
  const auto asked = [](const std::string& text, const std::string& arguments) {
    schemas::ChatRequest request;
    request.tenant = "team";
    request.body["messages"] = {
        {{"role", "user"}, {"content", text}},
        {{"role", "assistant"},
         {"tool_calls",
          {{{"id", "functions.f:0"}, {"function", {{"name", "f"}, {"arguments", arguments}}}}}}}};
    return request;
  };
  ReasoningStateCache memory(1 << 20);
  ReasoningStateReader answer(asked("one", "{}"));
  ChatPiece piece;
  piece.tool_calls = {{.index = 0, .id = "functions.f:0", .name = "f", .arguments = "{"}};
  answer.receive(piece);
  piece.tool_calls = {{.index = 0, .arguments = "}"}};
  piece.reasoning_state = "thoughts";
  answer.receive(piece);
  answer.remember(memory, "team", "vllm");
  for (const auto& [text, arguments, expected] : std::vector<std::tuple<std::string, std::string, bool>>{
           {"one", "{}", true}, {"two", "{}", false}, {"one", "{ }", false}, {"", "{}", false}}) {
    auto request = asked(text, arguments);
    memory.fill(request, "vllm");
    EXPECT_EQ(expected, request.body["messages"][1].contains(kReasoningStateMember)) << text << arguments;
    memory.fill(request, "openrouter");
    EXPECT_FALSE(request.body["messages"][1].contains(kReasoningStateMember));
  }
}

TEST(Price, CachedTokensHaveTheirOwnAndAreNotPaidTwice) {
  schemas::ChatUsage usage;
  usage.prompt = 1'000'000;
  usage.completion = 500'000;
  usage.cached = 400'000;
  EXPECT_DOUBLE_EQ(0.6 * 2 + 0.4 * 0.5 + 0.5 * 8, cost_of({2, 8, 0.5}, usage));
  EXPECT_DOUBLE_EQ(2 + 4, cost_of({2, 8, {}}, usage));
}

TEST(ToolNames, AreOfTheLettersThatModelsTakeAtMost64AndEachOnce) {
  ToolNames names;
  names.reserve("maps__search");
  EXPECT_EQ("maps__search_2", names.name("maps", "search"));
  EXPECT_EQ("a_b__c_d", names.name("a.b", "c d"));
  EXPECT_EQ("a_b__c_d_2", names.name("a/b", "c:d"));
  const std::string longest = names.name(std::string(60, 's'), std::string(80, 't'));
  EXPECT_EQ(64u, longest.size());
  EXPECT_EQ(64u, names.name(std::string(60, 's'), std::string(80, 't')).size());
  EXPECT_TRUE(longest.starts_with(std::string(24, 's') + "__t")) << longest;
}

ChatPiece call_piece(int index, const std::string& name, const std::string& arguments) {
  ChatPiece piece;
  piece.tool_calls.push_back({index, name.empty() ? "" : "id", "", name, arguments});
  return piece;
}

TEST(TurnFilter, CallsOfOursAreHeldAndTheClientsAreNumberedWithoutGaps) {
  TurnFilter filter([](const std::string& tool) { return tool == "ours"; });
  filter.begin(false);
  EXPECT_FALSE(filter.filter_piece(call_piece(0, "ours", "{")));
  const auto shown = filter.filter_piece(call_piece(1, "theirs", ""));
  ASSERT_TRUE(shown);
  EXPECT_EQ(0, shown->tool_calls.at(0).index);
  EXPECT_FALSE(filter.filter_piece(call_piece(0, "", "}")));
  EXPECT_EQ("{}", filter.filter_piece(call_piece(1, "", "{}"))->tool_calls.at(0).arguments);
  ChatPiece end;
  end.finish_reason = "tool_calls";
  EXPECT_FALSE(filter.filter_piece(std::move(end)));
  const auto turn = filter.take();
  ASSERT_EQ(2u, turn.choices.at(0).tool_calls.size());
  EXPECT_EQ("{}", turn.choices[0].tool_calls[0].arguments);
  EXPECT_EQ("tool_calls", turn.choices[0].finish_reason);
}

TEST(TurnFilter, ACallIsHeldUntilItsNameIsKnown) {
  TurnFilter filter([](const std::string& tool) { return tool == "ours"; });
  filter.begin(false);
  EXPECT_FALSE(filter.filter_piece(call_piece(0, "", "{")));
  const auto shown = filter.filter_piece(call_piece(0, "theirs", "}"));
  ASSERT_TRUE(shown);
  ASSERT_EQ(2u, shown->tool_calls.size());
  EXPECT_EQ("{", shown->tool_calls[0].arguments);
}

TEST(TurnFilter, WhereNothingIsExecutedEveryCallIsTheClients) {
  TurnFilter filter([](const std::string&) { return true; });
  filter.begin(true);
  EXPECT_TRUE(filter.filter_piece(call_piece(0, "ours", "{}")));
}

}  // namespace
}  // namespace millrace::inference

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ai/inference/chat/tool_box.h"
#include "ai/inference/chat/tool_loop.h"
#include "ai/inference/routing/price.h"
#include "tests/support/cpu_time.h"

namespace millrace::inference {
namespace {

using schemas::ChatPiece;

TEST(Price, CachedTokensHaveTheirOwnAndAreNotPaidTwice) {
  schemas::ChatUsage usage;
  usage.prompt = 1'000'000;
  usage.completion = 500'000;
  usage.cached = 400'000;
  EXPECT_DOUBLE_EQ(0.6 * 2 + 0.4 * 0.5 + 0.5 * 8, cost_of({2, 8, 0.5}, usage));
  EXPECT_DOUBLE_EQ(2 + 4, cost_of({2, 8, {}}, usage));
}

TEST(ToolNames, ManyThatBeginAlikeAreMadeInLittleTime) {
  constexpr int kServers = 16, kToolsOfOne = 512;
  const std::string begin(61, 'x');
  std::set<std::string> made;
  const auto make = [&] {
    ToolNames names;
    for (int i = 0; i < kServers * kToolsOfOne; ++i)
      made.insert(names.name("s", begin + static_cast<char>('a' + i % 26) + std::to_string(i)));
  };
  EXPECT_LT(support::cpu_seconds(make), 0.5);
  EXPECT_EQ(std::size_t{kServers * kToolsOfOne}, made.size());
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

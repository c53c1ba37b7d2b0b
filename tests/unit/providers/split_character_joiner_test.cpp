#include "ai/providers/split_character_joiner.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "platform/base/utf8.h"
#include "tests/support/cpu_time.h"

namespace millrace::providers::split_character_joiner_test {
namespace {

struct Joined {
  std::vector<std::string> data;
  SplitCharacterJoiner joiner{[this](const net::SseEvent& event) { data.push_back(event.data); }};

  void take(const std::string& text) { joiner.take({.id = {}, .event = "message", .data = text}); }
  std::vector<std::string> end() {
    joiner.flush();
    for (const std::string& each : data) EXPECT_TRUE(base::is_utf8(each)) << each;
    return data;
  }
};

std::string delta(int choice, const std::string& member, const std::string& text) {
  return R"({"choices":[{"index":)" + std::to_string(choice) + R"(,"delta":{")" + member + R"(":")" + text +
         "\"}}]}";
}

std::vector<std::string> joined(const std::vector<std::string>& events) {
  Joined all;
  for (const std::string& each : events) all.take(each);
  return all.end();
}

using Events = std::vector<std::string>;

TEST(SplitCharacterJoiner, ValidEventsPassUnchangedAndAtOnce) {
  Joined all;
  for (const std::string& text : Events{R"( {"a" : "\u00e9\ud83d\ude00"} )", "[DONE]", "", "not json"}) {
    all.take(text);
    EXPECT_EQ(all.data.back(), text);
  }
  EXPECT_FALSE(all.joiner.is_holding());
}

TEST(SplitCharacterJoiner, SurrogatesOfAPairAreJoinedAndNothingIsSentTwice) {
  EXPECT_EQ(joined({delta(0, "content", R"(a\ud83d)"), delta(0, "content", R"(\ude00b)")}),
            (Events{delta(0, "content", "a"), delta(0, "content", "😀b")}));
}

TEST(SplitCharacterJoiner, BytesOfACharacterAreJoinedOverSeveralEvents) {
  EXPECT_EQ(
      joined({delta(0, "content", "a\xf0"), delta(0, "content", "\x9f"), delta(0, "content", "\x98\x80z")}),
      (Events{delta(0, "content", "a"), delta(0, "content", ""), delta(0, "content", "😀z")}));
}

TEST(SplitCharacterJoiner, EventsBetweenTheTwoPartsKeepTheirOrder) {
  const std::string ping = R"({"type":"ping"})", other = delta(1, "content", "x");
  EXPECT_EQ(
      joined({delta(0, "content", R"(a\ud83d)"), ping, other, delta(0, "content", ""),
              delta(0, "content", R"(\ude00)")}),
      (Events{delta(0, "content", "a"), ping, other, delta(0, "content", ""), delta(0, "content", "😀")}));
}

TEST(SplitCharacterJoiner, EachChoiceAndMemberHasItsOwnCharacter) {
  EXPECT_EQ(joined({delta(0, "content", R"(\ud83d)"), delta(1, "content", R"(\ud83c)"),
                    delta(1, "content", R"(\udf89)"), delta(0, "reasoning", R"(\ude00)"),
                    delta(0, "content", R"(\ude00)")}),
            (Events{delta(0, "content", ""), delta(1, "content", ""), delta(1, "content", "🎉"),
                    delta(0, "reasoning", "�"), delta(0, "content", "😀")}));
}

TEST(SplitCharacterJoiner, BlocksAndCallsAreDistinguishedByTheirIndex) {
  const auto block = [](int index, const std::string& text) {
    return R"({"type":"content_block_delta","index":)" + std::to_string(index) + R"(,"delta":{"text":")" +
           text + "\"}}";
  };
  EXPECT_EQ(joined({block(0, R"(\ud83d)"), block(1, R"(\ude00)"), "[DONE]"}),
            (Events{block(0, "�"), block(1, "�"), "[DONE]"}));
  const auto call = [](int index, const std::string& text) {
    return R"({"choices":[{"index":0,"delta":{"tool_calls":[{"index":)" + std::to_string(index) +
           R"(,"function":{"arguments":")" + text + R"("}}]}}]})";
  };
  EXPECT_EQ(joined({call(2, R"(\ud83d)"), call(2, R"(\ude00)")}), (Events{call(2, ""), call(2, "😀")}));
}

TEST(SplitCharacterJoiner, AThoughtIsNotContinuedByTheAnswer) {
  EXPECT_EQ(joined({R"({"parts":[{"text":"a\ud83d","thought":true}]})", R"({"parts":[{"text":"\ude00"}]})"}),
            (Events{R"({"parts":[{"text":"a�","thought":true}]})", R"({"parts":[{"text":"�"}]})"}));
}

TEST(SplitCharacterJoiner, ACharacterWithoutItsRestIsReplaced) {
  EXPECT_EQ(joined({delta(0, "content", R"(a\ud83d)")}), (Events{delta(0, "content", "a�")}));
  EXPECT_EQ(joined({delta(0, "content", R"(\ude00a)")}), (Events{delta(0, "content", "�a")}));
  EXPECT_EQ(joined({delta(0, "content", R"(a\ud83d)"), delta(0, "content", "b")}),
            (Events{delta(0, "content", "a"), delta(0, "content", "�b")}));
  EXPECT_EQ(joined({delta(0, "content", R"(a\ud83d)"), "[DONE]"}),
            (Events{delta(0, "content", "a�"), "[DONE]"}));
  EXPECT_EQ(joined({delta(0, "content", R"(a\ud83d)"), "{\"broken\xff"}).front(), delta(0, "content", "a�"));
}

// A chain of events that each end inside a character and complete the one before.
Events chain(std::size_t size) {
  Events events(size, delta(0, "content", R"(\ude00\ud83d)"));
  events.front() = delta(0, "content", R"(\ud83d)");
  events.push_back(delta(0, "content", R"(\ude00)"));
  return events;
}

TEST(SplitCharacterJoiner, EventsSplitInARowHoldOnlyTheNewest) {
  Joined all;
  Events expected(40, delta(0, "content", "😀"));
  expected.insert(expected.begin(), delta(0, "content", ""));
  std::size_t number = 0;
  for (const std::string& each : chain(40)) {
    all.take(each);
    EXPECT_EQ(all.data.size(), number < 40 ? number : 41);
    EXPECT_EQ(all.joiner.oldest(), number < 40 ? std::optional(number) : std::nullopt);
    ++number;
  }
  EXPECT_FALSE(all.joiner.is_holding());
  EXPECT_EQ(all.end(), expected);
}

TEST(SplitCharacterJoiner, ATextThatIsNeverCompletedDoesNotBreakTheOthers) {
  Joined all;
  all.take(delta(1, "content", R"(a\ud83d)"));
  for (const std::string& each : chain(40)) all.take(each);
  Events expected(40, delta(0, "content", "😀"));
  expected.insert(expected.begin(), {delta(1, "content", "a�"), delta(0, "content", "")});
  EXPECT_EQ(all.end(), expected);
}

TEST(SplitCharacterJoiner, OnlyTheOldestEventIsGivenUp) {
  Joined all;
  all.take(delta(0, "content", R"(a\ud83d)"));
  all.take(R"({"type":"ping"})");
  all.take(delta(1, "content", R"(b\ud83d)"));
  all.joiner.pass_on_oldest();
  EXPECT_EQ(all.data, (Events{delta(0, "content", "a�"), R"({"type":"ping"})"}));
  EXPECT_EQ(all.joiner.oldest(), 2u);
  all.take(delta(1, "content", R"(\ude00)"));
  EXPECT_EQ(all.end().back(), delta(1, "content", "😀"));
}

TEST(SplitCharacterJoiner, APartWithTextContinuesTheLastOneAtAnyPosition) {
  const auto parts = [](const std::string& list) {
    return R"({"candidates":[{"content":{"parts":[)" + list + "]}}]}";
  };
  EXPECT_EQ(
      joined({parts(R"({"text":"x","thought":true},{"text":"a\ud83d"})"), parts(R"({"text":"\ude00"})")}),
      (Events{parts(R"({"text":"x","thought":true},{"text":"a"})"), parts(R"({"text":"😀"})")}));
  EXPECT_EQ(joined({parts(R"({"text":"a\ud83d"})"), parts(R"({"executableCode":{}},{"text":"\ude00"})")}),
            (Events{parts(R"({"text":"a"})"), parts(R"({"executableCode":{}},{"text":"😀"})")}));
  EXPECT_EQ(joined({parts(R"({"text":"a\ud83d"},{"text":"\ude00"})")}),
            (Events{parts(R"({"text":"a"},{"text":"😀"})")}));
}

TEST(SplitCharacterJoiner, HoldsBoundedEventsAndBytes) {
  Joined many;
  many.take(delta(0, "content", R"(a\ud83d)"));
  for (std::size_t i = 1; i < SplitCharacterJoiner::kHeldEventsMax; ++i) many.take(R"({"type":"ping"})");
  EXPECT_FALSE(many.joiner.is_holding());
  EXPECT_EQ(many.data.size(), SplitCharacterJoiner::kHeldEventsMax);
  Joined large;
  large.take(delta(0, "content", std::string(SplitCharacterJoiner::kHeldBytesMax, 'x') + R"(\ud83d)"));
  EXPECT_FALSE(large.joiner.is_holding());
}

TEST(SplitCharacterJoiner, ManyBrokenTextsBehindALongNameNeedLittleTimeAndMemory) {
  std::string text = "{\"" + std::string(1u << 20, 'n') + R"(":[)";
  for (int i = 0; i < 20'000; ++i) text.append(i == 0 ? "" : ",").append("\"\xf0\"");
  text += "]}";
  Joined all;
  EXPECT_LT(support::cpu_seconds([&] { all.take(text); }), 2);
  EXPECT_EQ(all.end().size(), 1u);
}

}  // namespace
}  // namespace millrace::providers::split_character_joiner_test

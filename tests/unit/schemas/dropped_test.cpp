#include "schemas/dropped.h"

#include <gtest/gtest.h>

namespace millrace::schemas::dropped_test {
namespace {

using How = DroppedParam::How;

TEST(DroppedText, NamesEachOnceInOrderWithWhatBecameOfIt) {
  EXPECT_EQ(dropped_text({{"a", How::kDropped},
                          {"temperature", How::kClamped},
                          {"n", How::kEmulated},
                          {"a", How::kDropped}}),
            "a, temperature;clamped, n;emulated");
  EXPECT_EQ(dropped_text({}), "");
}

TEST(DroppedText, PercentEncodesWhatAHeadersTokenMayNotCarry) {
  EXPECT_EQ(dropped_text({{"\u00e9", How::kDropped}}), "%C3%A9");
  EXPECT_EQ(dropped_text({{"\u00fcn\u00ef", How::kDropped}}), "%C3%BCn%C3%AF");
  EXPECT_EQ(dropped_text({{"a, b;clamped", How::kClamped}}), "a%2C%20b%3Bclamped;clamped");
  EXPECT_EQ(dropped_text({{"a\r\nx: y", How::kDropped}, {"50%", How::kDropped}, {"", How::kDropped}}),
            "a%0D%0Ax%3A%20y, 50%25, \"\"");
  EXPECT_EQ(dropped_text({{"messages.0.content", How::kDropped}}), "messages.0.content");
}

TEST(DroppedText, CutsALongNameBetweenEscapesAndSaysSo) {
  std::string name, shown;
  for (int i = 0; i < 500; ++i) name += "\u00e9";
  for (int i = 0; i < 42; ++i) shown += i % 2 == 0 ? "%C3" : "%A9";
  EXPECT_EQ(dropped_text({{name, How::kDropped}}), shown + "...");
}

TEST(DroppedText, IsCutAtABoundAndSaysSo) {
  DroppedParams many;
  for (int i = 0; i < 1000; ++i) many.push_back({.name = "parameter_" + std::to_string(i)});
  const std::string text = dropped_text(many);
  EXPECT_LE(text.size(), 2048u);
  EXPECT_TRUE(text.ends_with(", ..."));
}

}  // namespace
}  // namespace millrace::schemas::dropped_test

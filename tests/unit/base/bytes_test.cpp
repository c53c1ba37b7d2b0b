#include "platform/base/bytes.h"

#include <gtest/gtest.h>

namespace millrace::base::bytes_test {
namespace {

using std::chrono::milliseconds;

struct Row {
  std::string_view text;
  std::int64_t value;
};

TEST(Bytes, SizesAreReadInBinaryAndDecimalUnits) {
  const Row rows[] = {{"0", 0},
                      {"4096", 4096},
                      {"100B", 100},
                      {"512KiB", 524'288},
                      {"64MiB", 67'108'864},
                      {"2GiB", 2'147'483'648},
                      {"1TiB", 1'099'511'627'776},
                      {"10MB", 10'000'000},
                      {"3kB", 3'000}};
  for (const Row& row : rows) EXPECT_EQ(parse_bytes(row.text), row.value) << row.text;
}

TEST(Bytes, WhatIsNoSizeIsRefused) {
  for (std::string_view text : {"", "MiB", "-1", "+1", "1.5GiB", "64 MiB", "64mib", "64MiBx",
                                "9223372036854775808", "9000000000TiB"}) {
    EXPECT_FALSE(parse_bytes(text)) << text;
  }
}

TEST(Bytes, SizesAreWrittenInTheLargestUnitThatDividesThem) {
  EXPECT_EQ(format_bytes(67'108'864), "64MiB");
  EXPECT_EQ(format_bytes(1536), "1536B");
  EXPECT_EQ(format_bytes(1'572'864), "1536KiB");
  EXPECT_EQ(format_bytes(0), "0B");
}

TEST(Sizes, ThatWereMeasuredAreWrittenInShort) {
  EXPECT_EQ(short_bytes(0), "0B");
  EXPECT_EQ(short_bytes(1'023), "1023B");
  EXPECT_EQ(short_bytes(1'024), "1KiB");
  EXPECT_EQ(short_bytes(1'600), "1.5KiB");
  EXPECT_EQ(short_bytes(1'234'567), "1.1MiB");
  EXPECT_EQ(short_bytes(67'108'865), "64MiB");
  EXPECT_EQ(short_bytes(INT64_MAX), "8388607TiB");
}

TEST(Durations, ThatAreAgesAreInTheUnitThatAPersonWouldUse) {
  using std::chrono::seconds;
  EXPECT_EQ(short_duration(std::chrono::milliseconds(-3'000)), "0s");
  EXPECT_EQ(short_duration(std::chrono::milliseconds(999)), "0s");
  EXPECT_EQ(short_duration(seconds(1)), "1s");
  EXPECT_EQ(short_duration(seconds(119)), "119s");
  EXPECT_EQ(short_duration(seconds(120)), "2m");
  EXPECT_EQ(short_duration(seconds(7'200)), "2h");
  EXPECT_EQ(short_duration(seconds(172'800)), "2d");
  EXPECT_EQ(short_duration(seconds(3'000'000)), "34d");
}

TEST(Durations, AreReadWithUnitsAndAsSums) {
  const Row rows[] = {{"0", 0},
                      {"250ms", 250},
                      {"30s", 30'000},
                      {"10m", 600'000},
                      {"12h", 43'200'000},
                      {"90d", 7'776'000'000},
                      {"2w", 1'209'600'000},
                      {"7d3h4s", 615'604'000},
                      {"1m1ms", 60'001}};
  for (const Row& row : rows) EXPECT_EQ(parse_duration(row.text), milliseconds(row.value)) << row.text;
}

TEST(Durations, WhatIsNoDurationIsRefused) {
  for (std::string_view text :
       {"", "30", "s", "-5s", "1.5h", "4s3h", "5s5s", "10 m", "10M", "1h30", "99999999999999d"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Durations, AreWrittenAsTheyAreRead) {
  for (std::string_view text : {"0s", "250ms", "30s", "1h30m", "7d3h4s", "90d"}) {
    const auto duration = parse_duration(text);
    ASSERT_TRUE(duration) << text;
    EXPECT_EQ(format_duration(*duration), text);
  }
}

}  // namespace
}  // namespace millrace::base::bytes_test

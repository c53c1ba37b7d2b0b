#include "api/admission/refused_keys.h"

#include <gtest/gtest.h>

namespace millrace::api {
namespace {

using std::chrono::seconds;

constexpr base::BootTime kStart{seconds(1000)};

TEST(RefusedKeys, OneRowPerMinuteKeyAndAddressWithACount) {
  RefusedKeys keys;
  for (int i = 0; i < 5; ++i) keys.add("aaaaaaaa", "192.0.2.1");
  keys.add("aaaaaaaa", "192.0.2.2");
  keys.add("bbbbbbbb", "192.0.2.1");
  const auto first = keys.take_due(kStart);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[0].count, 5);
  for (int i = 0; i < 7; ++i) keys.add("aaaaaaaa", "192.0.2.1");
  EXPECT_TRUE(keys.take_due(kStart + seconds(59)).empty());
  const auto next = keys.take_due(kStart + seconds(60));
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].key_id, "aaaaaaaa");
  EXPECT_EQ(next[0].address, "192.0.2.1");
  EXPECT_EQ(next[0].count, 7);
}

TEST(RefusedKeys, ManyPairsAreCountedTogether) {
  RefusedKeys keys;
  for (int i = 0; i < 10'000; ++i) keys.add("", "2001:db8::" + std::to_string(i));
  const auto rows = keys.take_due(kStart);
  EXPECT_EQ(rows.size(), RefusedKeys::kPairsMax + 1);
  std::int64_t all = 0;
  for (const RefusedKeys::Count& each : rows) all += each.count;
  EXPECT_EQ(all, 10'000);
}

}  // namespace
}  // namespace millrace::api

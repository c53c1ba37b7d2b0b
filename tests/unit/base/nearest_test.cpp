#include "platform/base/nearest.h"

#include <array>

#include <gtest/gtest.h>

namespace millrace::base::nearest_test {
namespace {

TEST(Nearest, DistanceCountsEditsAndNeighbourSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("lisetn", "listen"), 1U);
  EXPECT_EQ(edit_distance("store", "store"), 0U);
}

TEST(Nearest, NamesTheClosestAndNothingWhenAllAreFar) {
  constexpr std::array<std::string_view, 3> known{"store.wal_max", "listen", "kafka.brokers"};
  EXPECT_EQ(nearest("lisetn", known), "listen");
  EXPECT_EQ(nearest("store.wal_mx", known), "store.wal_max");
  EXPECT_EQ(nearest("zzz", known), "");
  EXPECT_EQ(nearest("anything", {}), "");
}

}  // namespace
}  // namespace millrace::base::nearest_test

#include "platform/base/ids.h"

#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::base::ids_test {
namespace {

constexpr std::int64_t kNow = 4'000'000'000'000;  // later than any real clock

TEST(Ids, ANewIdIsAUuidOfVersionSevenWithItsMillisecond) {
  const Uuid id = Uuid::make(wall_from(kNow));
  EXPECT_EQ(id.str().size(), 36U);
  EXPECT_EQ(id.str()[14], '7');
  EXPECT_NE(std::string("89ab").find(id.str()[19]), std::string::npos);
  EXPECT_GE(millis(id.time()), kNow);
  EXPECT_LE(millis(id.time()), kNow + 1);
}

TEST(Ids, IdsMadeInOneMillisecondSortInTheOrderOfTheirMaking) {
  Uuid last = Uuid::make(wall_from(kNow));
  for (int i = 0; i < 20'000; ++i) {
    const Uuid next = Uuid::make(wall_from(kNow));
    ASSERT_LT(last, next);
    ASSERT_LT(last.str(), next.str());
    last = next;
  }
}

TEST(Ids, AClockThatGoesBackDoesNotMakeOlderIds) {
  const Uuid first = Uuid::make(wall_from(kNow + 100'000));
  EXPECT_GT(Uuid::make(wall_from(kNow)), first);
}

TEST(Ids, ThreadsNeverMakeTheSameId) {
  std::vector<std::vector<Uuid>> made(4);
  {
    std::vector<std::jthread> threads;
    for (auto& ids : made) {
      threads.emplace_back([&ids] {
        for (int i = 0; i < 5'000; ++i) ids.push_back(Uuid::make(wall_from(kNow)));
      });
    }
  }
  std::set<Uuid> all;
  for (const auto& ids : made) all.insert(ids.begin(), ids.end());
  EXPECT_EQ(all.size(), 20'000U);
}

TEST(Ids, TextAndBytesLeadBackToTheId) {
  const Uuid id = Uuid::make(wall_from(kNow));
  EXPECT_EQ(Uuid::parse(id.str()), id);
  const auto known = Uuid::from_bytes("\x01\x92\xf0\xa1\x7c\x1e\x70\x0f\x80\xff\x09\xab\xcd\xef\x10\x7f");
  EXPECT_EQ(known.value().str(), "0192f0a1-7c1e-700f-80ff-09abcdef107f");
  EXPECT_EQ(Uuid::from_bytes(id.bytes()), id);
  EXPECT_FALSE(id.is_nil());
  EXPECT_TRUE(Uuid().is_nil());
}

TEST(Ids, OnlyTheLowerCaseFormWithDashesIsRead) {
  EXPECT_TRUE(Uuid::parse("0192f0a1-7c1e-7000-8000-000000000001"));
  for (std::string_view text :
       {"", "0192F0A1-7c1e-7000-8000-000000000001", "0192f0a17c1e70008000000000000001",
        "0192f0a1-7c1e-7000-8000-00000000000", "0192f0a1-7c1e-7000-8000-0000000000012",
        "0192f0a1-7c1e-7000-8000_000000000001", "{192f0a1-7c1e-7000-8000-000000000001"}) {
    EXPECT_FALSE(Uuid::parse(text)) << text;
  }
  EXPECT_FALSE(Uuid::from_bytes("fifteen bytes.."));
}

TEST(Ids, RandomBytesComeInTheCountAskedForAndDiffer) {
  for (std::size_t count : {0U, 1U, 16U, 300U, 5'000U}) EXPECT_EQ(random_bytes(count).size(), count);
  std::set<std::string> seen;
  for (int i = 0; i < 1'000; ++i) seen.insert(random_bytes(16));
  EXPECT_EQ(seen.size(), 1'000U);
}

}  // namespace
}  // namespace millrace::base::ids_test

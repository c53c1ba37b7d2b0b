#include "storage/announcer.h"

#include <atomic>

#include <gtest/gtest.h>
#include <poll.h>

#include "tests/support/wait_until.h"

namespace millrace::storage {
namespace {

using support::wait_until;

constexpr std::size_t kMany = Announcer::kManyAnswers;
constexpr std::size_t kFew = kMany - 1;

// Groups of numbered operations; which ran, and where.
class AnnouncerTest : public ::testing::Test {
 protected:
  explicit AnnouncerTest(std::chrono::milliseconds patience = std::chrono::minutes(10))
      : announcer_([this](std::size_t count) { finished_ += count; }, patience) {}

  struct Ran {
    int number;
    std::thread::id where;
  };

  void TearDown() override { announcer_.close(); }

  void announce(std::size_t size, const std::function<void()>& meanwhile = {}) {
    Announcement group;
    group.commit.changes.emplace_back();
    for (std::size_t i = 0; i < size; ++i) {
      Announcement::Answer& answer = group.answers.emplace_back();
      answer.operation.done = [this, number = next_++, meanwhile](const base::Status&) {
        EXPECT_FALSE(busy_.exchange(true)) << "two announce at once";
        if (meanwhile) meanwhile();
        ran_.push_back({number, std::this_thread::get_id()});
        busy_ = false;
      };
    }
    announcer_.announce(std::move(group));
  }

  bool is_rung() const {
    pollfd bell{.fd = bell_, .events = POLLIN, .revents = 0};
    return ::poll(&bell, 1, 0) == 1;
  }
  bool all_ran() const { return finished_ == static_cast<std::size_t>(next_.load()); }
  // After all ran: each once, in order, on one thread.
  bool ran_in_order(std::thread::id where) const {
    for (std::size_t i = 0; i < ran_.size(); ++i)
      if (ran_[i].number != static_cast<int>(i) || ran_[i].where != where) return false;
    return ran_.size() == finished_;
  }
  bool ran_elsewhere() const {
    return !ran_.empty() && ran_in_order(ran_[0].where) && ran_[0].where != here_;
  }

  const std::thread::id here_ = std::this_thread::get_id();
  std::atomic<int> next_{0};
  std::atomic<std::size_t> finished_{0};
  std::atomic<bool> busy_{false};
  std::vector<Ran> ran_;  // of whoever announces
  Announcer announcer_;
  int bell_ = -1;
};

TEST_F(AnnouncerTest, AloneAnnouncesEachGroup) {
  announce(kMany);
  announce(kFew);
  ASSERT_TRUE(wait_until([&] { return all_ran(); }));
  EXPECT_TRUE(ran_elsewhere());
}

TEST_F(AnnouncerTest, LeavesALargeGroupToTheThreadThatShares) {
  bell_ = announcer_.lend();
  announce(kMany);
  ASSERT_TRUE(is_rung());
  announcer_.take_lent();
  ASSERT_TRUE(all_ran());
  EXPECT_TRUE(ran_in_order(here_));
  EXPECT_FALSE(is_rung());
}

TEST_F(AnnouncerTest, AnnouncesASmallGroupItself) {
  bell_ = announcer_.lend();
  announce(kFew);
  ASSERT_TRUE(wait_until([&] { return all_ran(); }));
  EXPECT_TRUE(ran_elsewhere());
  EXPECT_FALSE(is_rung());
}

class ImpatientAnnouncer : public AnnouncerTest {
 protected:
  ImpatientAnnouncer() : AnnouncerTest(Announcer::kPatience) {}
};

TEST_F(ImpatientAnnouncer, AnnouncesWhatTheOtherThreadDoesNotTake) {
  bell_ = announcer_.lend();
  for (int i = 0; i < 3; ++i) {
    announce(kMany);
    ASSERT_TRUE(wait_until([&] { return all_ran(); })) << i;
  }
  EXPECT_TRUE(ran_elsewhere());
  announcer_.take_lent();
  EXPECT_TRUE(ran_elsewhere()) << "nothing twice";
}

TEST_F(AnnouncerTest, TakesALargeGroupThatWaitsBeforeASmallOne) {
  bell_ = announcer_.lend();
  announce(kMany);
  announce(kFew);
  ASSERT_TRUE(wait_until([&] { return all_ran(); }));
  EXPECT_TRUE(ran_elsewhere());
}

TEST_F(AnnouncerTest, WhoeverIsAtItGoesOnWithWhatComes) {
  bell_ = announcer_.lend();
  bool more = true;
  announce(kMany, [&] {
    if (!std::exchange(more, false)) return;
    announce(kFew);
    announce(kMany);
  });
  announcer_.take_lent();
  ASSERT_TRUE(all_ran());
  EXPECT_TRUE(ran_in_order(here_));
}

TEST_F(AnnouncerTest, OfAnEndlessRowTheOtherThreadTakesSoMuchAtATime) {
  bell_ = announcer_.lend();
  int ran_here = 0;
  std::function<void()> again = [&] {
    if (std::this_thread::get_id() != here_) return;
    if (++ran_here % static_cast<int>(kMany) == 0) announce(kMany, again);
  };
  announce(kMany, again);
  announcer_.take_lent();
  EXPECT_EQ(ran_here, Announcer::kLentRounds * static_cast<int>(kMany));
  ASSERT_TRUE(wait_until([&] { return all_ran(); }));
}

TEST_F(AnnouncerTest, HasAtOnceWhatWasLeftToAThreadThatReturnsIt) {
  bell_ = announcer_.lend();
  announce(kMany);
  announcer_.return_lent();
  announce(kMany);
  ASSERT_TRUE(wait_until([&] { return all_ran(); }));
  EXPECT_TRUE(ran_elsewhere());
}

TEST_F(AnnouncerTest, AnnouncesWhatIsLeftWhenItIsClosed) {
  bell_ = announcer_.lend();
  announce(kMany);
  announcer_.return_lent();
  announcer_.close();
  EXPECT_TRUE(all_ran());
}

TEST_F(AnnouncerTest, AnnouncesOnTheCallersThreadWhatComesAfterItsEnd) {
  announcer_.close();
  announce(kFew);
  EXPECT_TRUE(all_ran());
  EXPECT_TRUE(ran_in_order(here_));
}

TEST_F(AnnouncerTest, LeavesNoRefusalsToTheThreadThatShares) {
  bell_ = announcer_.lend();
  announcer_.announce({.answers = std::vector<Announcement::Answer>(kMany), .commit = {}});
  EXPECT_TRUE(wait_until([&] { return finished_ == kMany; }));
  EXPECT_FALSE(is_rung());
}

TEST_F(AnnouncerTest, KeepsTheOrderBetweenTwoThreads) {
  bell_ = announcer_.lend();
  constexpr int kGroups = 4'000;
  std::atomic<bool> ended{false};
  std::jthread sharing([&] {
    pollfd bell{.fd = bell_, .events = POLLIN, .revents = 0};
    while (!ended) {
      if (::poll(&bell, 1, 1) == 1) announcer_.take_lent();
    }
  });
  for (int i = 0; i < kGroups; ++i) announce(i % 3 == 0 ? kFew : kMany);
  EXPECT_TRUE(wait_until([&] { return all_ran(); }));
  ended = true;
  sharing.join();
  int expected = 0;
  for (const Ran& ran : ran_) ASSERT_EQ(ran.number, expected++);
  EXPECT_EQ(expected, next_.load());
}

}  // namespace
}  // namespace millrace::storage

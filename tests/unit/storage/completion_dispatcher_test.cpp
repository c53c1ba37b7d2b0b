#include "storage/writer/completion_dispatcher.h"

#include <atomic>

#include <gtest/gtest.h>
#include <poll.h>

#include "tests/support/wait_until.h"

namespace millrace::storage {
namespace {

using support::wait_until;

constexpr std::size_t kMany = CompletionDispatcher::kSharedGroupMin;
constexpr std::size_t kFew = kMany - 1;

// Groups of numbered operations. Records which completions ran, and on which thread.
class CompletionDispatcherTest : public ::testing::Test {
 protected:
  explicit CompletionDispatcherTest(std::chrono::milliseconds shared_timeout = std::chrono::minutes(10))
      : announcer_([this](std::size_t count) { finished_ += count; }, shared_timeout) {}

  struct Ran {
    int number;
    std::thread::id where;
  };

  void TearDown() override { announcer_.close(); }

  void dispatch(std::size_t size, const std::function<void()>& meanwhile = {}) {
    CompletedGroup group;
    group.commit.changes.emplace_back();
    for (std::size_t i = 0; i < size; ++i) {
      CompletedGroup::Outcome& answer = group.outcomes.emplace_back();
      answer.operation.done = [this, number = next_++, meanwhile](const base::Status&) {
        EXPECT_FALSE(busy_.exchange(true)) << "two threads run completions at the same time";
        if (meanwhile) meanwhile();
        ran_.push_back({number, std::this_thread::get_id()});
        busy_ = false;
      };
    }
    announcer_.dispatch(std::move(group));
  }

  bool is_rung() const {
    pollfd event_fd{.fd = event_fd_, .events = POLLIN, .revents = 0};
    return ::poll(&event_fd, 1, 0) == 1;
  }
  bool all_ran() const { return finished_ == static_cast<std::size_t>(next_.load()); }
  // Checks, after all completions have run, that each ran once, in order and on one thread.
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
  std::vector<Ran> ran_;  // written by the dispatching thread
  CompletionDispatcher announcer_;
  int event_fd_ = -1;
};

TEST_F(CompletionDispatcherTest, WithoutSharingItDispatchesEachGroup) {
  dispatch(kMany);
  dispatch(kFew);
  ASSERT_TRUE(wait_until([&] { return all_ran(); }));
  EXPECT_TRUE(ran_elsewhere());
}

TEST_F(CompletionDispatcherTest, OffersALargeGroupToTheSharingThread) {
  event_fd_ = announcer_.share();
  dispatch(kMany);
  ASSERT_TRUE(is_rung());
  announcer_.run_shared();
  ASSERT_TRUE(all_ran());
  EXPECT_TRUE(ran_in_order(here_));
  EXPECT_FALSE(is_rung());
}

TEST_F(CompletionDispatcherTest, DispatchesASmallGroupItself) {
  event_fd_ = announcer_.share();
  dispatch(kFew);
  ASSERT_TRUE(wait_until([&] { return all_ran(); }));
  EXPECT_TRUE(ran_elsewhere());
  EXPECT_FALSE(is_rung());
}

class CompletionDispatcherWithoutTimeout : public CompletionDispatcherTest {
 protected:
  CompletionDispatcherWithoutTimeout() : CompletionDispatcherTest(CompletionDispatcher::kSharedTimeout) {}
};

TEST_F(CompletionDispatcherWithoutTimeout, DispatchesWhatTheSharingThreadDoesNotTake) {
  event_fd_ = announcer_.share();
  for (int i = 0; i < 3; ++i) {
    dispatch(kMany);
    ASSERT_TRUE(wait_until([&] { return all_ran(); })) << i;
  }
  EXPECT_TRUE(ran_elsewhere());
  announcer_.run_shared();
  EXPECT_TRUE(ran_elsewhere()) << "no completion runs twice";
}

TEST_F(CompletionDispatcherTest, TakesALargeGroupThatWaitsBeforeASmallOne) {
  event_fd_ = announcer_.share();
  dispatch(kMany);
  dispatch(kFew);
  ASSERT_TRUE(wait_until([&] { return all_ran(); }));
  EXPECT_TRUE(ran_elsewhere());
}

TEST_F(CompletionDispatcherTest, TheDispatchingThreadContinuesWithNewGroups) {
  event_fd_ = announcer_.share();
  bool more = true;
  dispatch(kMany, [&] {
    if (!std::exchange(more, false)) return;
    dispatch(kFew);
    dispatch(kMany);
  });
  announcer_.run_shared();
  ASSERT_TRUE(all_ran());
  EXPECT_TRUE(ran_in_order(here_));
}

TEST_F(CompletionDispatcherTest, TheSharingThreadDispatchesABoundedNumberOfGroupsAtATime) {
  event_fd_ = announcer_.share();
  int ran_here = 0;
  std::function<void()> again = [&] {
    if (std::this_thread::get_id() != here_) return;
    if (++ran_here % static_cast<int>(kMany) == 0) dispatch(kMany, again);
  };
  dispatch(kMany, again);
  announcer_.run_shared();
  EXPECT_EQ(ran_here, CompletionDispatcher::kSharedRoundsMax * static_cast<int>(kMany));
  ASSERT_TRUE(wait_until([&] { return all_ran(); }));
}

TEST_F(CompletionDispatcherTest, DispatchesOfferedGroupsAtOnceWhenSharingStops) {
  event_fd_ = announcer_.share();
  dispatch(kMany);
  announcer_.stop_sharing();
  dispatch(kMany);
  ASSERT_TRUE(wait_until([&] { return all_ran(); }));
  EXPECT_TRUE(ran_elsewhere());
}

TEST_F(CompletionDispatcherTest, DispatchesTheRestWhenItIsClosed) {
  event_fd_ = announcer_.share();
  dispatch(kMany);
  announcer_.stop_sharing();
  announcer_.close();
  EXPECT_TRUE(all_ran());
}

TEST_F(CompletionDispatcherTest, DispatchesOnTheCallersThreadAfterItsEnd) {
  announcer_.close();
  dispatch(kFew);
  EXPECT_TRUE(all_ran());
  EXPECT_TRUE(ran_in_order(here_));
}

TEST_F(CompletionDispatcherTest, OffersNoRefusalsToTheSharingThread) {
  event_fd_ = announcer_.share();
  announcer_.dispatch({.outcomes = std::vector<CompletedGroup::Outcome>(kMany), .commit = {}});
  EXPECT_TRUE(wait_until([&] { return finished_ == kMany; }));
  EXPECT_FALSE(is_rung());
}

TEST_F(CompletionDispatcherTest, KeepsTheOrderBetweenTwoThreads) {
  event_fd_ = announcer_.share();
  constexpr int kGroups = 4'000;
  std::atomic<bool> ended{false};
  std::jthread sharing([&] {
    pollfd event_fd{.fd = event_fd_, .events = POLLIN, .revents = 0};
    while (!ended) {
      if (::poll(&event_fd, 1, 1) == 1) announcer_.run_shared();
    }
  });
  for (int i = 0; i < kGroups; ++i) dispatch(i % 3 == 0 ? kFew : kMany);
  EXPECT_TRUE(wait_until([&] { return all_ran(); }));
  ended = true;
  sharing.join();
  int expected = 0;
  for (const Ran& ran : ran_) ASSERT_EQ(ran.number, expected++);
  EXPECT_EQ(expected, next_.load());
}

}  // namespace
}  // namespace millrace::storage

#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/storage/budget_store.h"

// A random walk over everything that reserves, spends and releases money.
namespace millrace::storage::testing {
namespace {

using schemas::NanoUsd;
using schemas::UsagePeriod;

class BudgetWalk {
 public:
  static constexpr NanoUsd kHard = 1'000;

  BudgetWalk() { s_.budget({.hard = kHard, .period = UsagePeriod::kDay}); }

  void step() {
    if (random_() % 100 == 0) s_.clock.advance(10h);
    switch (random_() % 9) {
      case 0:
      case 1:
        (void)s_.try_costing(any(60));
        return;
      case 2:
        for (auto& job : s_.claim(1)) running_.push_back(job.lease);
        return;
      case 3:
        return call();
      case 4:
      case 5:
        return end_attempt(random_() % 2 == 0);
      case 6:
        if (random_() % 8 == 0) lose_worker();
        return;
      case 7:
        if (const auto id = s_.reserve(any(60)); id && *id) requests_.push_back(**id);
        return;
      default:
        return settle();
    }
  }

  void check() {
    ASSERT_LE(s_.most_of_a_day(), kHard);
    const auto use = s_.use(UsagePeriod::kTotal);
    ASSERT_LE(billed_, use.cost + use.reserved);
    ASSERT_EQ(use.reserved, s_.reserved_rows());
    ASSERT_GE(use.reserved, 0);
  }
  NanoUsd billed() const { return billed_; }

 private:
  NanoUsd any(int below) { return static_cast<NanoUsd>(random_() % static_cast<unsigned>(below)); }

  void call() {
    if (running_.empty()) return;
    const NanoUsd most = any(60);
    if (s_.call(running_.back(), most) != ReportResult::kApplied) return;
    const NanoUsd real = any(static_cast<int>(most) + 1);
    billed_ += real;
    sent_[running_.back().job.str()] += real;
  }

  void end_attempt(bool retries) {
    if (running_.empty()) return;
    const Lease lease = running_.back();
    running_.pop_back();
    const NanoUsd cost = sent_[lease.job.str()];
    if (!retries) {
      s_.finish_for(lease, cost);
      return;
    }
    s_.retry_for(lease, cost);
    sent_.erase(lease.job.str());
  }

  void lose_worker() {
    s_.lose_worker();
    running_.clear();
    sent_.clear();
  }

  void settle() {
    if (requests_.empty()) return;
    s_.settle(requests_.back(), 0);
    requests_.pop_back();
  }

  BudgetStore s_;
  std::mt19937 random_{7};
  std::vector<Lease> running_;
  std::vector<base::Uuid> requests_;
  std::map<std::string, NanoUsd> sent_;  // what calls of an attempt cost really
  NanoUsd billed_ = 0;                   // by the provider: at most what each call may cost
};

TEST(Budgets, SpentAndReservedNeverExceedTheBudgetWhateverHappens) {
  BudgetWalk walk;
  for (int i = 0; i < 600; ++i) {
    walk.step();
    walk.check();
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(walk.billed(), BudgetWalk::kHard / 8) << "the walk spends something";
}

}  // namespace
}  // namespace millrace::storage::testing

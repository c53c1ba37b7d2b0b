#include "jobs/policy.h"

#include <gtest/gtest.h>

namespace millrace::jobs {
namespace {

using std::chrono::milliseconds;

TEST(Policy, EveryKindHasOne) {
  for (const schemas::Kind kind : schemas::kKinds) {
    EXPECT_EQ(policy(kind).kind, kind);
    EXPECT_GT(policy(kind).attempts_max, 0);
    const bool act = kind == schemas::Kind::kMachine;
    EXPECT_EQ(policy(kind).deadline, std::chrono::hours(act ? 1 : 24));
  }
}

TEST(Policy, AnActOfAMachineIsRunAgainWhenItsWorkerIsLost) {
  const KindPolicy& act = policy(schemas::Kind::kMachine);
  EXPECT_EQ(act.attempts_max, 3);
  EXPECT_EQ(act.rerun, schemas::Rerun::kAtLeastOnce);
}

TEST(Policy, ACommandIsTriedOnceAndRunAtMostOnce) {
  const KindPolicy& exec = policy(schemas::Kind::kExec);
  EXPECT_EQ(exec.attempts_max, 1);
  EXPECT_EQ(exec.rerun, schemas::Rerun::kAtMostOnce);
}

TEST(Policy, ALeaseLeavesThreeMissedHeartbeats) {
  const LeasePolicy lease;
  EXPECT_GE(lease.lease, lease.heartbeat * 4);
  EXPECT_EQ(lease.usable(), milliseconds(15'000));
}

TEST(Policy, RetriesBackOffWithFullJitterUpToACap) {
  milliseconds before{0};
  for (int tries = 0; tries < 20; ++tries) {
    EXPECT_EQ(retry_delay(tries, {}, 0.0), milliseconds(0));
    const milliseconds most = retry_delay(tries, {}, 0.999999);
    EXPECT_GE(most, before);
    EXPECT_LE(most, milliseconds(60'000));
    before = most;
  }
  EXPECT_GT(before, milliseconds(59'000));
  EXPECT_LT(retry_delay(0, {}, 0.999999), milliseconds(500));
}

TEST(Policy, AnUpstreamsRetryAfterIsAFloor) {
  EXPECT_EQ(retry_delay(0, milliseconds(90'000), 0.5), milliseconds(90'000));
  EXPECT_EQ(retry_delay(3, milliseconds(1), 0.5), milliseconds(2'000));
}

TEST(Policy, TheErrorClassDecidesWhetherAnAttemptCounts) {
  const KindPolicy& ocr = policy(schemas::Kind::kOcr);
  EXPECT_EQ(retry_plan(ocr, 1, base::error(base::Code::kDocumentDamaged, ""), 0.5).attempts_max, 1);
  EXPECT_EQ(retry_plan(ocr, 1, base::error(base::Code::kUpstream, ""), 0.5).attempts_max, ocr.attempts_max);
  EXPECT_EQ(retry_plan(ocr, 1, base::error(base::Code::kRateLimited, ""), 0.5).attempts_max, 0);
  EXPECT_EQ(retry_plan(ocr, 1, base::error(base::Code::kOverloaded, ""), 0.5).attempts_max, 0);
}

TEST(Policy, APermanentErrorIsNotRetriedWhateverItsCodesClass) {
  const KindPolicy& chat = policy(schemas::Kind::kChat);
  for (const base::Code code : {base::Code::kUpstream, base::Code::kOverloaded}) {
    base::Error refusal = base::error(code, "");
    EXPECT_NE(retry_plan(chat, 1, refusal, 0.5).attempts_max, 1) << base::name(code);
    refusal.is_permanent = true;
    EXPECT_EQ(retry_plan(chat, 1, refusal, 0.5).attempts_max, 1) << base::name(code);
  }
}

TEST(Policy, AnExhaustedQuotaUsesUpNoAttempt) {
  base::Error refusal = base::error(base::Code::kQuota, "");
  refusal.is_permanent = true;
  EXPECT_EQ(retry_plan(policy(schemas::Kind::kChat), 1, refusal, 0.5).attempts_max, 0);
}

TEST(Policy, ARetryKeepsTheFieldThatItsErrorIsAbout) {
  const KindPolicy& chat = policy(schemas::Kind::kChat);
  const base::Error error = base::error(base::Code::kUpstream, "no", "response_format");
  EXPECT_EQ(retry_plan(chat, 1, error, 0.5).error.param, "response_format");
}

TEST(Policy, ACrashCountsAsACrashAndNothingElse) {
  const storage::RetryPlan plan = crash_plan(1, base::error(base::Code::kInternal, "signal 11"), 0.5);
  EXPECT_TRUE(plan.crash);
  EXPECT_FALSE(plan.loss);
  EXPECT_EQ(plan.crashes_max, kCrashesMax);
  EXPECT_EQ(plan.attempts_max, 0);
}

}  // namespace
}  // namespace millrace::jobs

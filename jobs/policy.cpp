#include "jobs/policy.h"

#include <algorithm>
#include <array>

#include "storage/machines/machines.h"

namespace millrace::jobs {
namespace {

using std::chrono::milliseconds;

constexpr std::array kPolicies{
    KindPolicy{schemas::Kind::kOcr, 4, schemas::Rerun::kAtLeastOnce, schemas::kDefaultJobDeadline},
    KindPolicy{schemas::Kind::kExec, 1, schemas::Rerun::kAtMostOnce, schemas::kDefaultJobDeadline},
    KindPolicy{schemas::Kind::kMachine, 3, schemas::Rerun::kAtLeastOnce, storage::kActDeadline},
    KindPolicy{schemas::Kind::kChat, 4, schemas::Rerun::kAtLeastOnce, schemas::kDefaultJobDeadline},
    KindPolicy{schemas::Kind::kStt, 4, schemas::Rerun::kAtLeastOnce, schemas::kDefaultJobDeadline},
};
static_assert(kPolicies.size() == schemas::kKinds.size(), "one row per kind");

constexpr milliseconds kRetryBase{500};
constexpr milliseconds kRetryCap{60'000};
constexpr int kDoublingsMax = 7;  // 500 ms × 2^7 is above the cap

}  // namespace

const KindPolicy& policy(schemas::Kind kind) {
  return *std::find_if(kPolicies.begin(), kPolicies.end(),
                       [&](const KindPolicy& p) { return p.kind == kind; });
}

milliseconds retry_delay(int tries, milliseconds retry_after, double random) {
  const milliseconds full = std::min(kRetryCap, kRetryBase * (1 << std::clamp(tries, 0, kDoublingsMax)));
  const auto jittered =
      milliseconds(static_cast<milliseconds::rep>(static_cast<double>(full.count()) * random));
  return std::max(jittered, retry_after);
}

bool is_local_limit(const base::Error& error) {
  return error.code == base::Code::kOverloaded && !error.is_permanent;
}

base::RetryClass job_retry_class(const base::Error& error) {
  return error.code == base::Code::kQuota ? base::info(error.code).retry : base::retry_class(error);
}

storage::RetryPlan retry_plan(const KindPolicy& policy, int attempt, const base::Error& error,
                              double random) {
  storage::RetryPlan plan;
  plan.error = {error.code, error.message, error.param};
  plan.crashes_max = kCrashesMax;
  plan.losses_max = kLossesMax;
  plan.delay = retry_delay(attempt - 1, error.retry_after, random);
  if (is_local_limit(error)) return plan;  // the attempt does not count
  switch (job_retry_class(error)) {
    case base::RetryClass::kPermanent:
      plan.attempts_max = 1;  // a retry would end the same way
      break;
    case base::RetryClass::kTransient:
      plan.attempts_max = policy.attempts_max;
      break;
    case base::RetryClass::kRateLimited:
      plan.attempts_max = 0;  // uses up no attempt: the deadline bounds it
      break;
  }
  return plan;
}

storage::RetryPlan crash_plan(int crashes, const base::Error& error, double random) {
  storage::RetryPlan plan;
  plan.error = {error.code, error.message};
  plan.crash = true;
  plan.crashes_max = kCrashesMax;
  plan.losses_max = kLossesMax;
  plan.delay = retry_delay(crashes, {}, random);
  return plan;
}

}  // namespace millrace::jobs

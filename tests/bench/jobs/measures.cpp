#include "tests/bench/jobs/measures.h"

#include <mutex>
#include <unordered_map>

#include "tests/bench/jobs/ledger.h"
#include "tests/bench/jobs/ticks.h"

namespace millrace::bench {
namespace {

using Clock = std::chrono::steady_clock;
using schemas::JobId;
using schemas::JobStatus;

constexpr std::chrono::seconds kTimeLimit{120};
constexpr std::uint64_t kSlowestRate = 250;   // jobs per second that a drain may have
constexpr std::uint64_t kInFlightMax = 4096;  // submits; less than the writer's queue accepts

// The submit time of each job that has not started yet. Thread-safe.
class Starts {
 public:
  void submitted(const JobId& job, Clock::time_point when) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(job, when);
  }
  void started(const JobId& job) {
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(job);
    if (found == waiting_.end()) return;
    if (found->second >= count_from_) latency_.add(now - found->second);
    waiting_.erase(found);
  }
  void count_from(Clock::time_point when) { count_from_ = when; }
  Histogram latency() {
    const std::lock_guard lock(mutex_);
    return latency_;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<JobId, Clock::time_point, schemas::JobIdHash> waiting_;
  Clock::time_point count_from_;
  Histogram latency_;
};

}  // namespace

base::Result<StartLatency> measure_start(JobCore::Options options, Pace pace) {
  Ledger ledger;
  Starts starts;
  auto core = JobCore::open(std::move(options), [&](const JobId&, JobStatus status) {
    ledger.ended(status == JobStatus::kSucceeded);
  });
  if (!core) return core.error();
  if (auto good = (*core)->start_worker([&](const JobId& job) { starts.started(job); }); !good)
    return good.error();
  if (auto good = (*core)->start_bus(); !good) return good.error();
  starts.count_from(Clock::now() + std::chrono::duration_cast<Clock::duration>(pace.warmup));
  const auto jobs = static_cast<std::uint64_t>(pace.rate * (pace.warmup + pace.measured).count());
  Ticks ticks(pace.rate);
  for (std::uint64_t i = 0; i < jobs; ++i) {
    ticks.wait();
    const JobId id = (*core)->new_id();
    starts.submitted(id, Clock::now());
    (*core)->submit(id, [&](const base::Status& status) { ledger.stored(status); });
  }
  auto done = ledger.wait_ended(jobs, kTimeLimit);
  (*core)->close();
  if (!done) return done.error();
  StartLatency result{0, starts.latency()};
  result.jobs = result.latency.count();
  return result;
}

base::Result<Drained> measure_drain(JobCore::Options options, std::uint64_t jobs) {
  Ledger ledger;
  const std::chrono::seconds limit = kTimeLimit + std::chrono::seconds(jobs / kSlowestRate);
  auto core = JobCore::open(std::move(options), [&](const JobId&, JobStatus status) {
    ledger.ended(status == JobStatus::kSucceeded);
  });
  if (!core) return core.error();
  const auto store_began = Clock::now();
  for (std::uint64_t i = 0; i < jobs; ++i) {
    if (i >= kInFlightMax) {
      if (auto good = ledger.wait_stored(i - kInFlightMax + 1, kTimeLimit); !good) return good.error();
    }
    (*core)->submit((*core)->new_id(), [&](const base::Status& status) { ledger.stored(status); });
  }
  if (auto good = ledger.wait_stored(jobs, limit); !good) return good.error();
  const auto began = Clock::now();
  if (auto good = (*core)->start_worker([](const JobId&) {}); !good) return good.error();
  if (auto good = (*core)->start_bus(); !good) return good.error();
  const auto ended = [&](std::uint64_t count) -> base::Result<double> {
    if (auto good = ledger.wait_ended(count, limit); !good) return good.error();
    return std::chrono::duration<double>(Clock::now() - began).count();
  };
  const auto first = ended(jobs / 5);
  const auto before_last = first ? ended(jobs - jobs / 5) : first;
  const auto all = before_last ? ended(jobs) : before_last;
  (*core)->close();
  if (!all) return all.error();
  return Drained{*all, *first, *all - *before_last,
                 std::chrono::duration<double>(began - store_began).count()};
}

}  // namespace millrace::bench

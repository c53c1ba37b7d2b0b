#pragma once
#include <chrono>
#include <initializer_list>
#include <map>
#include <string_view>

#include "platform/base/log.h"
#include "platform/base/metrics.h"
#include "schemas/jobs/job.h"
#include "storage/jobs/job_claims.h"

namespace millrace::workers {

// How an attempt ended, for metrics and logs.
enum class AttemptOutcome {
  kSucceeded,
  kSplit,
  kRetry,
  kFailed,
  kCommandFailed,  // the command exited with an error
  kExpired,
  kCancelled,
  kReturnedToQueue,
  kLost
};
inline constexpr std::array kAttemptOutcomes = {
    AttemptOutcome::kSucceeded, AttemptOutcome::kSplit,           AttemptOutcome::kRetry,
    AttemptOutcome::kFailed,    AttemptOutcome::kCommandFailed,   AttemptOutcome::kExpired,
    AttemptOutcome::kCancelled, AttemptOutcome::kReturnedToQueue, AttemptOutcome::kLost};
std::string_view name(AttemptOutcome end);

// The metrics of this process's workers. Thread-safe.
class WorkerMetrics {
 public:
  explicit WorkerMetrics(base::Metrics& metrics);
  void started(schemas::Kind kind, std::chrono::milliseconds waited) const;
  void ended(schemas::Kind kind, AttemptOutcome end, std::chrono::milliseconds ran) const;
  // The worker's slots of the kind, and how many are in use.
  void slots(schemas::Kind kind, int all, int used) const;
  void ocr_page(bool good) const { (good ? pages_good_ : pages_failed_).add(); }
  void stt_piece(bool good) const { (good ? pieces_good_ : pieces_failed_).add(); }

 private:
  struct KindSeries {
    base::Counter attempts;
    base::Histogram wait;
    std::map<AttemptOutcome, base::Histogram> duration;
    base::Gauge slots, slots_used;
  };
  std::map<schemas::Kind, KindSeries> kinds_;
  base::Counter pages_good_, pages_failed_, pieces_good_, pieces_failed_;
};

// Logs one line about an attempt: job_id, tenant, kind, attempt, the traceparent if the job's request had
// one, then `fields`. Thread-safe.
void log_job(base::LogLevel level, std::string_view event, const storage::ClaimedJob& job,
             std::initializer_list<base::LogField> fields = {});

}  // namespace millrace::workers

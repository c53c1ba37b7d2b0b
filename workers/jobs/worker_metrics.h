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

// How an attempt ended, as metrics and logs name it.
enum class AttemptEnd { kSucceeded, kSplit, kRetry, kFailed, kExpired, kCancelled, kGivenBack, kLost };
inline constexpr std::array kAttemptEnds = {
    AttemptEnd::kSucceeded, AttemptEnd::kSplit,     AttemptEnd::kRetry,     AttemptEnd::kFailed,
    AttemptEnd::kExpired,   AttemptEnd::kCancelled, AttemptEnd::kGivenBack, AttemptEnd::kLost};
std::string_view name(AttemptEnd end);

// What the workers of this process count. Thread-safe.
class WorkerMetrics {
 public:
  explicit WorkerMetrics(base::Metrics& metrics);
  void started(schemas::Kind kind, std::chrono::milliseconds waited) const;
  void ended(schemas::Kind kind, AttemptEnd end, std::chrono::milliseconds ran) const;
  // What the worker has of the kind, and how much of it is taken.
  void slots(schemas::Kind kind, int all, int used) const;
  void ocr_page(bool good) const { (good ? pages_good_ : pages_failed_).add(); }
  void stt_piece(bool good) const { (good ? pieces_good_ : pieces_failed_).add(); }

 private:
  struct KindSeries {
    base::Counter attempts;
    base::Histogram wait;
    std::map<AttemptEnd, base::Histogram> duration;
    base::Gauge slots, slots_used;
  };
  std::map<schemas::Kind, KindSeries> kinds_;
  base::Counter pages_good_, pages_failed_, pieces_good_, pieces_failed_;
};

// One line of the log about an attempt at a job: which one (job_id, tenant, kind, attempt and, if its order
// came with one, the traceparent), then `fields`. Thread-safe.
void log_job(base::LogLevel level, std::string_view event, const storage::Claimed& job,
             std::initializer_list<base::Field> fields = {});

}  // namespace millrace::workers

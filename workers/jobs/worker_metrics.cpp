#include "workers/jobs/worker_metrics.h"

#include <string>
#include <vector>

namespace millrace::workers {
namespace {

double seconds(std::chrono::milliseconds time) { return std::chrono::duration<double>(time).count(); }

base::Counter pages(base::Metrics& metrics, const char* outcome) {
  return metrics.counter("millrace_ocr_pages_total", "Pages read by OCR", {{"outcome", outcome}});
}

base::Counter pieces(base::Metrics& metrics, const char* outcome) {
  return metrics.counter("millrace_stt_pieces_total", "Pieces of recordings recognised",
                         {{"outcome", outcome}});
}

}  // namespace

std::string_view name(AttemptOutcome end) {
  switch (end) {
    case AttemptOutcome::kSucceeded:
      return "succeeded";
    case AttemptOutcome::kSplit:
      return "split";
    case AttemptOutcome::kRetry:
      return "retry";
    case AttemptOutcome::kFailed:
      return "failed";
    case AttemptOutcome::kCommandFailed:
      return "command_failed";
    case AttemptOutcome::kExpired:
      return "expired";
    case AttemptOutcome::kCancelled:
      return "cancelled";
    case AttemptOutcome::kReturnedToQueue:
      return "given_back";
    case AttemptOutcome::kLost:
      return "lost";
  }
  return {};
}

WorkerMetrics::WorkerMetrics(base::Metrics& metrics)
    : pages_good_(pages(metrics, "ok")),
      pages_failed_(pages(metrics, "failed")),
      pieces_good_(pieces(metrics, "ok")),
      pieces_failed_(pieces(metrics, "failed")) {
  for (const schemas::Kind kind : schemas::kKinds) {
    const std::string kind_name(schemas::name(kind));
    KindSeries series{
        metrics.counter("millrace_job_attempts_total", "Attempts started", {{"kind", kind_name}}),
        metrics.histogram("millrace_job_wait_seconds",
                          "Time from the job's creation to the start of an attempt", base::latency_bounds(),
                          {{"kind", kind_name}}),
        {},
        metrics.gauge("millrace_worker_slots", "Slots of this worker", {{"kind", kind_name}}),
        metrics.gauge("millrace_worker_slots_used", "Slots of this worker in use", {{"kind", kind_name}})};
    for (const AttemptOutcome end : kAttemptOutcomes) {
      series.duration.emplace(
          end,
          metrics.histogram("millrace_job_duration_seconds", "Run time of an attempt", base::latency_bounds(),
                            {{"kind", kind_name}, {"outcome", std::string(name(end))}}));
    }
    kinds_.emplace(kind, std::move(series));
  }
}

void WorkerMetrics::started(schemas::Kind kind, std::chrono::milliseconds waited) const {
  const KindSeries& series = kinds_.at(kind);
  series.attempts.add();
  series.wait.observe(seconds(waited));
}

void WorkerMetrics::ended(schemas::Kind kind, AttemptOutcome end, std::chrono::milliseconds ran) const {
  kinds_.at(kind).duration.at(end).observe(seconds(ran));
}

void WorkerMetrics::slots(schemas::Kind kind, int all, int used) const {
  const KindSeries& series = kinds_.at(kind);
  series.slots.set(all);
  series.slots_used.set(used);
}

void log_job(base::LogLevel level, std::string_view event, const storage::ClaimedJob& job,
             std::initializer_list<base::LogField> fields) {
  if (!base::log_enabled(level)) return;
  std::vector<base::LogField> all{{"job_id", job.lease.job.str()},
                                  {"tenant", job.tenant},
                                  {"kind", schemas::name(job.lease.job.kind)},
                                  {"attempt", job.lease.attempt}};
  if (!job.traceparent.empty()) all.emplace_back("traceparent", job.traceparent);
  all.insert(all.end(), fields);
  base::log(level, event, all);
}

}  // namespace millrace::workers

#include <utility>

#include "api/batches/batch_output.h"
#include "api/batches/batch_runner.h"
#include "platform/base/log.h"

// How a BatchRunner ends a batch.
namespace millrace::api {
namespace {

constexpr std::chrono::seconds kCancelEvery{5};
constexpr int kOpenJobsPerRead = 256;
constexpr int kUnsentPerStep = 500;

}  // namespace

// The batch was cancelled or has expired: jobs that run are cancelled, and what was not sent fails.
base::Result<bool> BatchRunner::end_early(Run& run, const Driven& driven) {
  const bool is_cancelled = driven.batch.status == schemas::BatchStatus::kCancelling;
  const auto status = is_cancelled ? schemas::BatchStatus::kCancelled : schemas::BatchStatus::kExpired;
  run.validation = nullptr;
  if (!driven.batch.started_at) {  // its input was still being checked
    const auto dropped = batches_.drop_lines(run.id);
    if (!dropped) return dropped.error();
    if (!*dropped) return true;
    const base::Status ended = batches_.complete(run.id, status, nullptr, nullptr);
    return ended ? base::Result<bool>(true) : ended.error();
  }
  const auto answered = take_answers(run);
  if (!answered) return answered.error();
  if (run.in_flight > 0) return *answered;
  const auto collected = collect_jobs(run, driven);
  if (!collected) return collected.error();
  if (*collected) return true;
  const auto open = batches_.submitted_count(run.id, 1);
  if (!open) return open.error();
  if (*open > 0) {
    const base::Status done = cancel_jobs(run, driven);
    return done ? base::Result<bool>(false) : done.error();
  }
  const auto failed = fail_pending(run, driven);
  if (!failed) return failed.error();
  return *failed ? base::Result<bool>(true) : finish(run, status);
}

// The cancellations need not be waited for: the jobs' ends are collected. One that was refused is repeated.
base::Status BatchRunner::cancel_jobs(Run& run, const Driven& driven) {
  if (Clock::now() < run.cancel_at) return {};
  run.cancel_at = Clock::now() + kCancelEvery;
  std::int64_t after = 0;
  for (;;) {
    const auto open = batches_.open(run.id, after, kOpenJobsPerRead);
    if (!open) return open.error();
    if (open->empty()) return {};
    for (const auto& each : *open) {
      after = each.number;
      context_.intake.cancel({.tenant = driven.tenant, .actor = driven.key_id}, each.job,
                             [job = each.job](const base::Result<schemas::JobView>& done) {
                               if (done || done.error().code == base::Code::kNotFound) return;
                               base::log_warn("batch_job_not_cancelled",
                                              {{"job_id", job.str()}, {"error", done.error().message}});
                             });
    }
  }
}

// True: there were some.
base::Result<bool> BatchRunner::fail_pending(Run& run, const Driven& driven) {
  const auto pending = batches_.pending(run.id, 0, kUnsentPerStep);
  if (!pending) return pending.error();
  const bool is_cancelled = driven.batch.status == schemas::BatchStatus::kCancelling;
  const std::string_view code = is_cancelled ? "batch_cancelled" : "batch_expired";
  const std::string_view message = is_cancelled
                                       ? "The batch was cancelled before this request was sent"
                                       : "This request was not sent before the completion window ended";
  for (const Line& line : *pending) fail_line(run, line, code, message);
  if (const base::Status written = write_ends(run); !written) return written.error();
  return !pending->empty();
}

// The lines of an output as one blob; null: there are none.
base::Result<storage::Staged> BatchRunner::join_outputs(const base::Uuid& id, bool is_error) {
  std::unique_ptr<storage::BlobWriter> writer;
  const base::Status read =
      each_output_line(context_.store, id, is_error, [&](std::string_view line) -> base::Status {
        renew_when_due();
        if (!writer) {
          auto begun = context_.store.blobs().begin_reserved(0);
          if (!begun) return begun.error();
          writer = *std::move(begun);
        }
        return writer->append(line);
      });
  if (!read) return read.error();
  if (!writer) return storage::Staged();
  return writer->finish();
}

base::Result<bool> BatchRunner::finish(Run& run, schemas::BatchStatus status) {
  auto output = join_outputs(run.id, false);
  if (!output) return output.error();
  auto errors = join_outputs(run.id, true);
  if (!errors) return errors.error();
  const base::Status ended = batches_.complete(run.id, status, *output, *errors);
  if (!ended) return ended.error();
  base::log_info("batch_ended", {{"batch", schemas::batch_id(run.id)}, {"status", schemas::name(status)}});
  claim_at_ = {};
  return true;
}

}  // namespace millrace::api

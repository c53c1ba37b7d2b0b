#include "api/job_result.h"

#include "platform/base/log.h"
#include "schemas/ocr.h"
#include "storage/job_queries.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::JobStatus;

base::Error expired_result() {
  return base::error(Code::kResultExpired,
                     "The result of this job has been removed: results are kept for 24 hours");
}

constexpr std::int64_t kUnknownSize = -1;

// What a reply says beyond the job's own words.
struct Marks {
  Freshness freshness = Freshness::kFirst;
  std::string dropped;
};

// The error that a job without a result answers with.
schemas::JobError ending(const schemas::JobView& job) {
  switch (job.status) {
    case JobStatus::kCancelled:
      return {Code::kJobCancelled, "The job was cancelled"};
    case JobStatus::kExpired:
      return job.error.value_or(
          schemas::JobError{Code::kJobExpired, "The job did not start before its deadline"});
    case JobStatus::kQueued:
    case JobStatus::kRunning:
    case JobStatus::kWaiting:
    case JobStatus::kSucceeded:
    case JobStatus::kFailed:
      break;
  }
  return job.error.value_or(schemas::JobError{Code::kInternal, "The job failed"});
}

base::Result<std::string> bytes_of(storage::Store& store, storage::StoredPayload payload) {
  if (!payload.blob) return std::move(payload.bytes);
  auto read = store.blobs().read(*payload.blob);
  if (!read) base::log_error("result_blob_not_read", {{"error", read.error().message}});
  return read;
}

void send_marked(Call& call, front::Reply reply, const Marks& marks) {
  if (marks.freshness == Freshness::kReplayed) add_header(reply, "idempotent-replayed", "true");
  if (!marks.dropped.empty()) add_header(reply, "x-millrace-dropped-params", marks.dropped);
  call.reply(std::move(reply));
}

void send_payload(Context& context, Call& call, storage::StoredPayload payload, const Marks& marks) {
  auto bytes = bytes_of(context.store, std::move(payload));
  if (!bytes) return call.fail(base::error(Code::kInternal, "The result of this job cannot be read"));
  send_marked(call, json_reply(200, std::move(*bytes)), marks);
}

void send_ending(Call& call, const schemas::JobView& job, const Marks& marks) {
  send_marked(call, stored_failure(call.head().path, ending(job)), marks);
}

}  // namespace

void send_result(Context& context, Call& call, const schemas::JobId& job, Freshness freshness,
                 const std::string& dropped) {
  const Marks marks{freshness, dropped};
  auto stored = storage::JobQueries(context.store).result(call.tenant(), job);
  if (!stored) return call.fail(stored.error());
  if (!schemas::is_terminal(stored->job.status)) return call.reply(empty_reply(202));
  if (stored->job.status != JobStatus::kSucceeded) return send_ending(call, stored->job, marks);
  if (!stored->payload) return call.fail(expired_result());
  send_payload(context, call, std::move(*stored->payload), marks);
}

void send_partial_result(Context& context, Call& call, const schemas::JobId& job) {
  storage::JobQueries queries(context.store);
  auto stored = queries.result(call.tenant(), job);
  if (!stored) return call.fail(stored.error());
  if (stored->payload) return send_payload(context, call, std::move(*stored->payload), {});
  if (stored->job.status == JobStatus::kSucceeded) return call.fail(expired_result());
  auto parts = queries.parts(call.tenant(), job);
  if (!parts) return call.fail(parts.error());
  if (parts->empty() && schemas::is_terminal(stored->job.status)) return send_ending(call, stored->job, {});
  std::vector<std::string> pages;
  for (storage::StoredPart& part : *parts) {
    auto bytes = bytes_of(context.store, std::move(part.payload));
    if (!bytes) return call.fail(base::error(Code::kInternal, "A part of this result cannot be read"));
    pages.push_back(std::move(*bytes));
  }
  call.reply(json_reply(200, schemas::ocr_reply(stored->job.model, pages, kUnknownSize)));
}

}  // namespace millrace::api

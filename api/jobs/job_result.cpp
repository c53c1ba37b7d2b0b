#include "api/jobs/job_result.h"

#include <algorithm>
#include <memory>

#include "api/chat/chat_jobs.h"
#include "platform/base/bytes.h"
#include "platform/base/log.h"
#include "schemas/media/ocr.h"
#include "storage/jobs/job_queries.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::JobStatus;

constexpr std::int64_t kUnknownSize = -1;
constexpr std::size_t kTailBytes = 256;  // lower bound for the end of a reply

// What a reply contains in addition to the job's result.
struct ReplyExtras {
  ReplayState replay_state = ReplayState::kFirst;
  std::string dropped;
  FormatOverride form;
};

// The error for a job that has no result.
schemas::JobError failure_of(const schemas::JobView& job) {
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

std::size_t size_of(const storage::StoredPayload& payload) {
  return payload.blob ? static_cast<std::size_t>(payload.blob->bytes) : payload.bytes.size();
}

base::Error too_large(std::size_t bytes, const Context& context, const schemas::JobId& job) {
  const auto text = [](std::size_t size) { return base::format_bytes(static_cast<std::int64_t>(size)); };
  return base::error(Code::kTooLarge,
                     "The result has " + text(bytes) + ", more than fits into one response " +
                         "(ocr.reply_max, " + text(context.options.reply_bytes_max) +
                         "): read it page by page, GET /v1/jobs/" + job.str() + "/result?pages=0-9");
}

base::Error too_many(const schemas::JobId& job) {
  return base::error(Code::kOverloaded,
                     "Too many results are being sent to clients at once (http.reply_budget): retry "
                     "GET /v1/jobs/" +
                         job.str() + "/result");
}

// Reserves budget for a reply of this size. The reservation is made before the reply is loaded and held until
// it has been sent. Small replies need none.
base::Result<std::shared_ptr<void>> capacity_for(Context& context, std::size_t bytes,
                                                 const schemas::JobId& job) {
  if (bytes > context.options.reply_bytes_max) return too_large(bytes, context, job);
  if (bytes <= kSmallReply) return std::shared_ptr<void>();
  auto reservation = context.replies.take(bytes);
  if (!reservation) return too_many(job);
  return std::shared_ptr<void>(std::make_shared<ByteBudget::Reservation>(std::move(*reservation)));
}

void send_with_extras(Call& call, front::Reply reply, const ReplyExtras& extras) {
  if (extras.replay_state == ReplayState::kReplayed) add_header(reply, "idempotent-replayed", "true");
  if (!extras.dropped.empty()) add_header(reply, "x-millrace-dropped-params", extras.dropped);
  call.reply(std::move(reply));
}

// A job's stored result in the response format of its kind.
base::Result<front::Reply> reply_of_kind(const schemas::JobView& job, std::string stored,
                                         FormatOverride form) {
  if (job.id.kind == schemas::Kind::kChat) return chat_reply_of(std::move(stored));
  if (job.id.kind == schemas::Kind::kStt) return transcript_reply(stored, job.model, form);
  return json_reply(200, std::move(stored));
}

void send_payload(Context& context, Call& call, const schemas::JobView& job, storage::StoredPayload payload,
                  const ReplyExtras& extras) {
  auto reservation = capacity_for(context, size_of(payload), job.id);
  if (!reservation) return call.fail(reservation.error());
  auto bytes = read_payload(context.store, std::move(payload));
  if (!bytes) return call.fail(read_error(bytes.error(), "The result of this job cannot be read"));
  auto reply = reply_of_kind(job, *std::move(bytes), extras.form);
  if (!reply) return call.fail(reply.error());
  reply->reservation = std::move(*reservation);
  send_with_extras(call, *std::move(reply), extras);
}

void send_failure(Call& call, const storage::StoredResult& stored, const ReplyExtras& extras) {
  base::Error error = error_of(stored.job);
  const std::string& path = call.head().path;
  const bool has_partial_chat = stored.job.id.kind == schemas::Kind::kChat && stored.payload;
  send_with_extras(call,
                   has_partial_chat ? chat_failure(path, std::move(error), stored.payload->bytes)
                                    : permanent_failure(path, error),
                   extras);
}

// Joins these parts of `job` into one reply. Pages are read one at a time, so the text is in memory only
// once.
base::Result<std::string> reply_of(Context& context, const Call& call, const schemas::JobView& job,
                                   const std::vector<storage::PartSize>& parts, std::size_t bytes) {
  storage::JobQueries queries(context.store);
  std::string out, document;
  int good = 0;
  out.reserve(bytes);
  out += schemas::kOcrReplyHead;
  for (const storage::PartSize& part : parts) {
    auto stored = queries.part(call.tenant(), job.id, part.index);
    if (!stored) return stored.error().code == Code::kNotFound ? expired_result() : stored.error();
    auto page = read_payload(context.store, std::move(*stored));
    if (!page) return read_error(page.error(), "A part of this result cannot be read");
    const auto split = schemas::without_document_members(*page);
    if (split && document.empty()) document = split->members;
    if (&part != parts.data()) out += ',';
    out += split ? split->page : *page;
    good += schemas::ocr_page_failed(*page) ? 0 : 1;
  }
  return out += schemas::ocr_reply_tail(job.model, good, kUnknownSize, document);
}

void keep_only(std::vector<storage::PartSize>& parts, const schemas::PageList& pages) {
  if (pages.empty()) return;
  std::erase_if(parts, [&](const storage::PartSize& part) {
    return !std::binary_search(pages.begin(), pages.end(), part.index);
  });
}

base::Result<front::Reply> reply_of_parts(Context& context, const Call& call, const schemas::JobView& job,
                                          const std::vector<storage::PartSize>& parts, std::size_t bytes,
                                          FormatOverride form) {
  if (job.id.kind == schemas::Kind::kStt)
    return partial_transcript(context, call.tenant(), job.id, parts, form);
  auto body = reply_of(context, call, job, parts, bytes);
  if (!body) return body.error();
  return json_reply(200, *std::move(body));
}

void send_parts(Context& context, Call& call, const schemas::JobView& job,
                const std::vector<storage::PartSize>& parts, FormatOverride form) {
  std::size_t bytes = schemas::kOcrReplyHead.size() + kTailBytes + job.model.size();
  for (const storage::PartSize& part : parts) bytes += 1 + part.bytes;
  auto reservation = capacity_for(context, bytes, job.id);
  if (!reservation) return call.fail(reservation.error());
  auto reply = reply_of_parts(context, call, job, parts, bytes, form);
  if (!reply) return call.fail(reply.error());
  reply->reservation = std::move(*reservation);
  call.reply(*std::move(reply));
}

}  // namespace

base::Error expired_result() {
  return base::error(Code::kResultExpired,
                     "The result of this job has been deleted because it is older than "
                     "retention.results");
}

base::Error error_of(const schemas::JobView& job) {
  schemas::JobError error = failure_of(job);
  return base::error(error.code, std::move(error.message), std::move(error.param));
}

base::Error read_error(const base::Error& why, const char* what) {
  const bool is_damaged = why.code == Code::kStoredDamaged || why.code == Code::kRequestDamaged ||
                          why.code == Code::kResultDamaged;
  return is_damaged || why.code == Code::kOverloaded ? why : base::error(Code::kInternal, what);
}

base::Result<std::string> read_payload(storage::Store& store, storage::StoredPayload payload) {
  if (payload.damaged) return storage::damaged_payload(*payload.damaged);
  if (!payload.blob) return std::move(payload.bytes);
  auto read = store.blobs().read(*payload.blob);
  if (!read) base::log_error("result_blob_read_failed", {{"error", read.error().message}});
  return read;
}

void send_result(Context& context, Call& call, const schemas::JobId& job, ReplayState replay_state,
                 const std::string& dropped, FormatOverride form) {
  const ReplyExtras extras{replay_state, dropped, form};
  auto stored = storage::JobQueries(context.store).result(call.tenant(), job);
  if (!stored) return call.fail(stored.error());
  if (!schemas::is_terminal(stored->job.status)) return call.reply(empty_reply(202));
  if (stored->job.status != JobStatus::kSucceeded) return send_failure(call, *stored, extras);
  if (!stored->payload) return call.fail(expired_result());
  send_payload(context, call, stored->job, std::move(*stored->payload), extras);
}

void send_partial_result(Context& context, Call& call, const schemas::JobId& job,
                         const schemas::PageList& pages, FormatOverride form) {
  storage::JobQueries queries(context.store);
  auto stored = queries.result(call.tenant(), job);
  if (!stored) return call.fail(stored.error());
  if (stored->payload && pages.empty())
    return send_payload(context, call, stored->job, std::move(*stored->payload),
                        {ReplayState::kFirst, {}, form});
  const bool over = schemas::is_terminal(stored->job.status);
  if (stored->job.status == JobStatus::kSucceeded && !stored->payload) return call.fail(expired_result());
  auto parts = queries.part_sizes(call.tenant(), job);
  if (!parts) return call.fail(parts.error());
  if (parts->empty() && over && !stored->payload) return send_failure(call, *stored, {});
  keep_only(*parts, pages);
  send_parts(context, call, stored->job, *parts, form);
}

}  // namespace millrace::api

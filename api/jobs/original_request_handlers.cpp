#include <algorithm>
#include <utility>

#include <unistd.h>

#include "api/call.h"
#include "api/handlers.h"
#include "api/jobs/job_result.h"
#include "api/jobs/job_text.h"
#include "platform/base/bytes.h"
#include "schemas/jobs/sealed_spec.h"
#include "schemas/media/audio_format.h"
#include "schemas/original_request.h"
#include "storage/jobs/job_queries.h"

namespace millrace::api {
namespace {

using base::Code;

base::Error larger_than_shown(std::size_t bytes, std::size_t most) {
  const auto text = [](std::size_t size) { return base::format_bytes(static_cast<std::int64_t>(size)); };
  return base::error(Code::kTooLarge, "The original request of this job has " + text(bytes) +
                                          ", above the limit for reading it (http.asked_max, " + text(most) +
                                          ")");
}

// Reserves budget for the stored text, its JSON tree and the response before anything is read. If that
// exceeds the whole budget, the reservation is the whole budget: one such request at a time. Small replies
// reserve none.
base::Result<ByteBudget::Reservation> reserve_reply_budget(Context& context, std::size_t bytes) {
  if (bytes > context.options.original_request_bytes_max)
    return larger_than_shown(bytes, context.options.original_request_bytes_max);
  if (bytes <= kSmallReply) return ByteBudget::Reservation();
  const std::size_t needed = std::min(schemas::reply_bytes(bytes), context.replies.max());
  auto reservation = context.replies.take(std::max(needed, bytes));
  if (!reservation) return reply_budget_exhausted();
  return *std::move(reservation);
}

// The first bytes of a document or recording; empty: there is none, or it cannot be read any more.
// kOverloaded: it cannot be read now.
base::Result<std::string> head_of(storage::Store& store, const schemas::JobId& id,
                                  const std::optional<storage::BlobRef>& input) {
  const bool is_file = id.kind == schemas::Kind::kOcr || id.kind == schemas::Kind::kStt;
  if (!is_file || !input) return std::string();
  const auto file = store.blobs().open(*input);
  if (!file && file.error().code == Code::kOverloaded) return file.error();
  if (!file) return std::string();
  std::string head(schemas::kAudioHeadBytes, '\0');
  const ssize_t got = ::pread(file->fd(), head.data(), head.size(), 0);
  head.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return head;
}

// At most two copies of the text exist at a time.
base::Result<std::string> original_text(Context& context, const std::string& tenant, const schemas::JobId& id,
                                        storage::StoredInput stored) {
  auto text = read_payload(context.store, std::move(stored.spec));
  if (!text) return read_error(text.error(), "The original request of this job cannot be read");
  text = schemas::open_spec(context.secret_key, tenant, *std::move(text));
  if (!text) return text.error();
  const auto head = head_of(context.store, id, stored.input);
  if (!head) return head.error();
  auto original = schemas::original_request(id.kind, *text, stored.input.has_value(), *head);
  if (!original) return std::move(original.error());
  if (!stored.metadata.empty())  // the spec of a chat has it, too
    original->body["metadata"] = original->is_form ? schemas::Json(stored.metadata)
                                                   : schemas::Json::parse(stored.metadata, nullptr, false);
  text->clear();
  text->shrink_to_fit();
  return schemas::to_json(id, *std::move(original));
}

void send_original_request(Context& context, Call& call, const schemas::JobId& id,
                           storage::StoredInput stored) {
  const storage::StoredPayload& spec = stored.spec;
  const std::size_t bytes = spec.blob ? static_cast<std::size_t>(spec.blob->bytes) : spec.bytes.size();
  if (bytes == 0 && !spec.damaged)
    return call.fail(base::error(Code::kResultExpired, "The original request of this job has been deleted"));
  auto reservation = reserve_reply_budget(context, bytes);
  if (!reservation) return call.fail(reservation.error());
  auto text = original_text(context, call.tenant(), id, std::move(stored));
  if (!text) return call.fail(text.error());
  reservation->shrink(text->size());
  front::Reply reply = json_reply(200, *std::move(text));
  reply.reservation = std::make_shared<ByteBudget::Reservation>(*std::move(reservation));
  call.reply(std::move(reply));
}

}  // namespace

void job_original_request(Context& context, CallPtr call) {
  const auto id = shown_job_id(call->params.front());
  if (!id) return call->fail(base::error(Code::kNotFound, "There is no such job"));
  call->set_job_id(id->str());
  auto stored = storage::JobQueries(context.store).input(call->tenant(), *id);
  if (!stored) return call->fail(stored.error());
  send_original_request(context, *call, *id, *std::move(stored));
}

}  // namespace millrace::api

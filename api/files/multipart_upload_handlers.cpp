#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "api/call.h"
#include "api/call_key.h"
#include "api/handlers.h"
#include "platform/base/log.h"
#include "schemas/files/multipart_upload.h"
#include "storage/files/multipart_uploads.h"
#include "storage/files/part_join.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::MultipartUpload;
using storage::MultipartUploads;

// The id in the path; nullopt: 404 was sent.
std::optional<base::Uuid> path_upload(Call& call) {
  const auto id = schemas::upload_id_from(call.params.front());
  if (!id) call.fail(storage::no_such_upload());
  return id;
}

void note_ignored(Call& call, std::vector<std::string> names) {
  std::ranges::move(names, std::back_inserter(call.ignored));
}

schemas::Refusal no_part_data() {
  return schemas::invalid({{.loc = {"body", std::string(schemas::kUploadPartField)},
                            .msg = "Field required",
                            .type = "missing",
                            .input = {},
                            .ctx = {}}});
}

// The form is complete. Runs on the pool.
void keep_part(Context& context, const CallPtr& call, const base::Uuid& upload, Form form) {
  std::vector<std::string> ignored = std::move(form.dropped);
  for (auto& [name, value] : form.fields) ignored.push_back(std::move(name));
  note_ignored(*call, std::move(ignored));
  if (!form.file) return call->refuse(no_part_data());
  auto key = optional_key(*call, [&form] { return form.fingerprint; });
  if (!key) return call->fail(key.error());
  const base::WallTime now = context.store.clock().wall();
  storage::NewUploadPart part{.about = {.id = base::Uuid::make(now), .upload = upload, .created_at = now},
                              .content = std::move(form.file)};
  MultipartUploads(context.store)
      .add_part(std::move(part), idempotent_call(context, *call, std::move(*key)), &schemas::upload_part_json,
                reply_callback(call));
}

// Joins the parts of an upload and then completes it. The join is a sequence of tasks for large work, so that
// the pool can run others between them. It goes on if the client disconnects: a repeat with the same
// Idempotency-Key gets the reply.
class CompletionRun final : public std::enable_shared_from_this<CompletionRun> {
 public:
  struct Request {
    base::Uuid upload;
    schemas::UploadCompletion completion;
    storage::IdempotentCall call;
  };
  CompletionRun(Context& context, CallPtr call, Request request, std::vector<storage::BlobRef> parts,
                KeyedSemaphore::Permit permit)
      : context_(context),
        call_(std::move(call)),
        request_(std::move(request)),
        permit_(std::move(permit)),
        join_(context.store.blobs(), std::move(parts), request_.completion.md5_hex) {}

  void schedule() {
    const bool posted = context_.pool.post_reply(base::Pool::Queue::kLarge,
                                                 [self = shared_from_this()] { self->guarded_step(); });
    if (!posted) call_->fail(base::error(Code::kOverloaded, "The gateway is shutting down; retry"));
  }

 private:
  void guarded_step() {
    try {
      step();
    } catch (const std::exception& broken) {
      base::log_error("upload_join_failed", {{"error", broken.what()}});
      call_->fail(base::error(Code::kInternal,
                              "Internal error while joining the parts: look for `upload_join_failed` in the "
                              "server's log"));
    }
  }

  void step() {
    const auto done = join_.step();
    if (!done) return fail(done.error());
    if (!*done) return schedule();
    auto bytes = join_.finish();
    permit_.reset();
    if (!bytes) return fail(bytes.error());
    const base::Uuid file = base::Uuid::make(context_.store.clock().wall());
    MultipartUploads(context_.store)
        .complete(
            {.upload = request_.upload, .file = file, .bytes = *std::move(bytes)}, std::move(request_.call),
            [](const storage::CompletedUpload& completed) {
              return schemas::multipart_upload_json(completed.upload, &completed.file);
            },
            [self = shared_from_this(), reply = reply_callback(call_)](
                const base::Result<storage::CallReply>& answer) { reply(answer); });
  }

  // If the upload has ended meanwhile, its parts may be gone: that is the cause then.
  void fail(const base::Error& error) {
    permit_.reset();
    MultipartUploads uploads(context_.store);
    const auto parts = uploads.parts(request_.call.tenant, request_.upload, request_.completion.parts);
    if (parts) return call_->fail(error);
    uploads.repeat(std::move(request_.call), parts.error(), reply_callback(call_));
  }

  Context& context_;
  const CallPtr call_;
  Request request_;
  KeyedSemaphore::Permit permit_;  // until the parts are joined
  storage::PartJoin join_;
};

base::Error too_many_joins(int most) {
  base::Error error =
      base::error(Code::kOverloaded, "This tenant has " + std::to_string(most) +
                                         " uploads that are being completed, which is the most; retry");
  error.retry_after = std::chrono::seconds(1);
  return error;
}

}  // namespace

void begin_upload(Context& context, CallPtr call) {
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  auto request = schemas::parse_upload_request(call->body());
  if (!request) return call->refuse(request.error());
  note_ignored(*call, std::move(request->unknown));
  const base::WallTime now = context.store.clock().wall();
  MultipartUpload upload{.id = base::Uuid::make(now),
                         .purpose = std::move(request->purpose),
                         .name = std::move(request->name),
                         .bytes = request->bytes,
                         .created_at = now,
                         .expires_at = now + schemas::kUploadLife,
                         .file_life = request->file_life};
  MultipartUploads(context.store)
      .begin(
          std::move(upload), idempotent_call(context, *call, std::move(*key)),
          [](const MultipartUpload& begun) { return schemas::multipart_upload_json(begun); },
          reply_callback(call));
}

void add_upload_part(Context& context, CallPtr call) {
  const auto id = path_upload(*call);
  if (!id) return;
  const std::shared_ptr<Upload> upload = call->upload;
  if (!upload) return call->refuse(no_part_data());  // the request has no body
  upload->finish([&context, call, id = *id](tl::expected<Form, schemas::Refusal> form) {
    call->drop_body();
    if (!form) return call->refuse(form.error());
    keep_part(context, call, id, *std::move(form));
  });
}

void complete_upload(Context& context, CallPtr call) {
  const auto id = path_upload(*call);
  if (!id) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  auto completion = schemas::parse_upload_completion(call->body());
  if (!completion) return call->refuse(completion.error());
  note_ignored(*call, std::move(completion->unknown));
  call->drop_body();
  CompletionRun::Request request{.upload = *id,
                                 .completion = *std::move(completion),
                                 .call = idempotent_call(context, *call, std::move(*key))};
  MultipartUploads uploads(context.store);
  auto parts = uploads.parts(call->tenant(), *id, request.completion.parts);
  if (!parts) return uploads.repeat(std::move(request.call), parts.error(), reply_callback(call));
  auto permit = context.join_permits.take(call->tenant());
  if (!permit) return call->fail(too_many_joins(context.join_permits.most()));
  std::make_shared<CompletionRun>(context, std::move(call), std::move(request), *std::move(parts),
                                  std::move(permit))
      ->schedule();
}

void cancel_upload(Context& context, CallPtr call) {
  const auto id = path_upload(*call);
  if (!id) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  MultipartUploads(context.store)
      .cancel(
          *id, idempotent_call(context, *call, std::move(*key)),
          [](const MultipartUpload& cancelled) { return schemas::multipart_upload_json(cancelled); },
          reply_callback(call));
}

}  // namespace millrace::api

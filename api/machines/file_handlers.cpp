#include <utility>

#include "api/call.h"
#include "api/call_key.h"
#include "api/handlers.h"
#include "api/jobs/job_responder.h"
#include "api/machines/execution.h"
#include "api/machines/machine_calls.h"
#include "platform/base/crypto.h"
#include "schemas/machines/machine_file.h"
#include "storage/machines/artifacts.h"
#include "storage/machines/machine_files.h"

// Files of a machine. Each call is an execution that copies or deletes the file on the machine, whichever
// process or host that takes (schemas/machines/machine_file.h). When it has ended, the response follows from
// it.
namespace millrace::api {
namespace {

using base::Code;
using schemas::FileAction;
using schemas::JobId;

// The execution ends by itself within this time.
constexpr std::chrono::milliseconds kFileWait =
    schemas::kFileStartMax + schemas::kFileTimeMax + std::chrono::seconds(30);

constexpr std::string_view kNotStarted = "execution_not_started";

// A call for a file, once its execution is known.
struct FileCall {
  Context& context;
  CallPtr call;
  FileAction action;
  std::string machine, path;
  std::string sha256_hex;  // of a put
  std::int64_t bytes = 0;  // of a put
  bool keyed = false;      // it has an Idempotency-Key
};

base::Error not_started() {
  return base::error(Code::kOverloaded,
                     "The machine could not begin within " +
                         std::to_string(schemas::kFileStartMax.count() / 1000) +
                         " s: it is still waking up, or all slots for commands are taken; retry");
}

// A full disk also refuses new files and folders.
int file_exit(FileAction action, int exit_code, const std::optional<schemas::JobError>& error) {
  const bool is_full = action == FileAction::kPut && error && error->code == Code::kOutOfDisk;
  const bool refused = exit_code == static_cast<int>(schemas::FileExit::kRefused);
  return is_full && refused ? static_cast<int>(schemas::FileExit::kIncomplete) : exit_code;
}

base::Error error_of(const FileCall& file, const Execution& execution) {
  const std::optional<schemas::JobError>& error = execution.job.error;
  const auto ending = schemas::execution_ending(execution.job.status, error, execution.result);
  if (execution.job.status == schemas::JobStatus::kCancelled)
    return base::error(Code::kJobCancelled, "The copying was cancelled");
  if (ending.exit_code) {
    const int exit_code = file_exit(file.action, *ending.exit_code, error);
    return schemas::file_error(file.action, exit_code, file.path);
  }
  if (ending.error_code == kNotStarted) return not_started();
  // Its name is stored, which two codes have. Only deleting helps here: it is `stored_bytes`.
  if (error && error->code == Code::kQuotaExceeded) return base::error(Code::kQuotaFull, error->message);
  if (error) return base::error(error->code, error->message);
  return base::error(Code::kInternal, "The file could not be copied");
}

void send_written(const FileCall& file, const Execution& execution, bool replayed) {
  constexpr int kOk = 200, kCreated = 201;
  const bool is_new = execution.result && execution.result->stdout_bytes > 0;
  front::Reply reply =
      json_reply(is_new ? kCreated : kOk, schemas::machine_file_json(file.path, file.bytes, file.sha256_hex));
  if (replayed) add_header(reply, "idempotent-replayed", "true");
  file.call->reply(std::move(reply));
}

void send_deleted(const FileCall& file, bool replayed) {
  constexpr int kNoContent = 204;
  front::Reply reply{.status = kNoContent, .content_type = {}, .headers = {}, .body = {}};
  if (replayed) add_header(reply, "idempotent-replayed", "true");
  file.call->reply(std::move(reply));
}

void send_read(const FileCall& file, const Execution& execution) {
  if (execution.artifacts.empty())
    return file.call->fail(base::error(Code::kInternal, "The file was read, but it could not be kept"));
  const auto artifact =
      storage::Artifacts(file.context.store)
          .artifact(file.call->tenant(), execution.spec.machine, execution.artifacts.front().first);
  if (!artifact) return file.call->fail(artifact.error());
  send_artifact(file.context, file.call, *artifact);
}

void send_success(const FileCall& file, const Execution& execution, bool replayed) {
  switch (file.action) {
    case FileAction::kPut:
      return send_written(file, execution, replayed);
    case FileAction::kGet:
      return send_read(file, execution);
    case FileAction::kDelete:
      return send_deleted(file, replayed);
  }
}

// With its Idempotency-Key a repeat gets the same end, whatever the error.
void send_file_failure(const FileCall& file, const Execution& execution) {
  const base::Error error = error_of(file, execution);
  if (!file.keyed) return file.call->fail(error);
  file.call->fail(error, permanent_failure(file.call->head().path, error));
}

// It failed for another reason than its file, the limits of its owner or the time until it began.
bool concerns_the_operator(const Execution& execution) {
  const std::optional<schemas::JobError>& error = execution.job.error;
  if (execution.job.status == schemas::JobStatus::kCancelled) return true;
  const auto ending = schemas::execution_ending(execution.job.status, error, execution.result);
  if (ending.exit_code || ending.error_code == kNotStarted) return false;
  constexpr int kServerError = 500;
  return !error || (error->code != Code::kOverloaded && base::info(error->code).http_status >= kServerError);
}

// The execution has said all that it can. With an Idempotency-Key it stays, for a repeat of the call; after a
// failure of the machine or of its host, for the operator.
void drop_execution(const FileCall& file, const Execution& execution) {
  if (file.keyed || concerns_the_operator(execution)) return;
  file.context.intake.cancel_or_delete(
      execution.job.id, idempotent_call(file.context, *file.call, std::nullopt),
      [](const storage::JobRecord&) { return std::string(); },
      [](const base::Result<storage::CallReply>&) {});
}

// Nobody will read the file any more: the execution is cancelled, and deleted when it has ended.
void remove_execution(Context& context, const CallPtr& call, const JobId& job) {
  context.intake.remove(
      job, idempotent_call(context, *call, std::nullopt),
      [](const schemas::JobView&) { return std::string(); },
      [&context, call](const base::Result<storage::Removed>& removed) {
        if (!removed || removed->files.empty()) return;
        reply_on_pool(context, call, [&context, files = removed->files] {
          for (const std::string& path : files) context.store.blobs().unlink(path);
        });
      });
}

storage::Caller caller_of(const FileCall& file) {
  return {.tenant = file.call->tenant(), .actor = file.call->principal->key_id};
}

// Nothing has happened, so a repeat with the same Idempotency-Key tries it anew.
void reply_not_started(const FileCall& file, const JobId& job) {
  storage::MachineFiles(file.context.store)
      .drop_unstarted(caller_of(file), job,
                      [file](const base::Result<bool>&) { file.call->fail(not_started()); });
}

bool is_not_started(const Execution& execution) {
  return schemas::execution_ending(execution.job.status, execution.job.error, execution.result).error_code ==
         kNotStarted;
}

// The execution has ended. Runs on the pool.
void reply_with_end(const FileCall& file, const JobId& job, bool replayed) {
  const auto execution = find_execution(file.context.store, file.call->tenant(), job);
  // Another call with the same key has dropped it.
  if (!execution && file.keyed && execution.error().code == Code::kNotFound)
    return file.call->fail(not_started());
  if (!execution) return file.call->fail(execution.error());
  if (is_not_started(*execution)) return reply_not_started(file, job);
  if (execution->job.status == schemas::JobStatus::kSucceeded) {
    send_success(file, *execution, replayed);
  } else {
    send_file_failure(file, *execution);
  }
  drop_execution(file, *execution);
}

base::Result<storage::Submission> submission_of(const FileCall& file, const schemas::Machine& machine,
                                                storage::Staged content) {
  schemas::ExecutionRequest request;
  request.spec = {.machine = machine.id,
                  .command = {std::string(schemas::name(file.action)), file.path},
                  .cwd = {},
                  .env_names = {},
                  .timeout = schemas::kFileTimeMax,
                  .has_input = content != nullptr,
                  .file = file.action};
  request.retry_on_worker_loss = true;  // a repeat has the same effect; whether a put is new is then a guess
  auto submission = execution_submission(file.context, *file.call, request);
  if (!submission) return submission;
  submission->input = std::move(content);
  submission->deadline_after = schemas::kFileStartMax;
  return submission;
}

base::Result<std::optional<storage::IdempotencyKey>> key_of(const FileCall& file) {
  if (file.action == FileAction::kGet) return std::optional<storage::IdempotencyKey>();
  return optional_key(*file.call, [&file] { return base::sha256(file.sha256_hex); });
}

// Runs on the pool.
void begin(Context& context, const CallPtr& call, FileAction action, storage::Staged content) {
  const auto machine = find_path_machine(context, *call);
  if (!machine) return;
  auto path = schemas::machine_file_path(call->params.at(1), machine->driver);
  if (!path) return call->refuse(path.error());
  if (const auto runs = may_run(context, *machine); !runs) return call->fail(runs.error());
  FileCall file{context,
                call,
                action,
                schemas::machine_id(machine->id),
                *std::move(path),
                content ? content->ref().sha256_hex : base::hex(base::sha256("")),
                content ? content->ref().bytes : 0};
  auto key = key_of(file);
  if (!key) return call->fail(key.error());
  auto submission = submission_of(file, *machine, std::move(content));
  if (!submission) return call->fail(submission.error());
  file.keyed = key->has_value();
  submission->idempotency = *std::move(key);
  JobResponder::ReplyOptions options{.kind = schemas::Kind::kExec, .subject = "The file", .wait = kFileWait};
  options.waits_on = action != FileAction::kGet && !file.keyed;
  if (action == FileAction::kGet)
    options.on_left = [&context, call](const JobId& job) { remove_execution(context, call, job); };
  if (options.waits_on) {
    options.on_left = [&context, caller = caller_of(file)](const JobId& job) {
      storage::MachineFiles(context.store).drop_when_ended(caller, job, [](const base::Result<bool>&) {});
    };
  }
  options.on_end = [file = std::move(file)](const JobId& job, bool replayed) {
    reply_with_end(file, job, replayed);
  };
  std::make_shared<JobResponder>(context, call, *std::move(submission), std::move(options))->submit();
}

}  // namespace

void put_file(Context& context, CallPtr call) {
  const std::shared_ptr<Upload> upload = call->upload;
  if (!upload) {  // an empty file
    on_pool(context, base::Pool::Queue::kQuick, call,
            [&context, call] { begin(context, call, FileAction::kPut, nullptr); });
    return;
  }
  upload->finish([&context, call](tl::expected<Form, schemas::Refusal> body) {
    call->drop_body();
    if (!body) return call->refuse(body.error());
    begin(context, call, FileAction::kPut, std::move(body->file));
  });
}

void get_file(Context& context, CallPtr call) { begin(context, call, FileAction::kGet, nullptr); }

void delete_file(Context& context, CallPtr call) { begin(context, call, FileAction::kDelete, nullptr); }

}  // namespace millrace::api

#include <algorithm>
#include <array>

#include "api/call.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/jobs/job_responder.h"
#include "api/machines/execution.h"
#include "api/machines/machine_calls.h"
#include "api/routing/list_query.h"
#include "api/routing/page.h"
#include "api/webhooks/request_webhook.h"
#include "platform/base/crypto.h"
#include "schemas/machines/machine.h"
#include "storage/blobs/blobs.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::ExecutionRequest;
using schemas::Field;
using schemas::JobId;
using storage::Submitted;

constexpr std::string_view kModel = "machine/exec";

// Adds the spec and the command's input to the submission. The input always goes to a blob, the spec only if
// it is large.
base::Status store_payload(Context& context, const ExecutionRequest& request,
                           storage::Submission& submission) {
  submission.spec = schemas::to_json(request.spec);
  if (auto staged = stage_large_spec(context.store.blobs(), submission); !staged) return staged;
  if (request.input.empty()) return {};
  auto blob = storage::stage(context.store.blobs(), request.input);
  if (!blob) return blob.error();
  submission.input = std::move(*blob);
  return {};
}

}  // namespace

base::Result<storage::Submission> execution_submission(Context& context, const Call& call,
                                                       const ExecutionRequest& request) {
  storage::Submission submission;
  submission.id = context.submit.new_id(schemas::Kind::kExec);
  submission.tenant = call.tenant();
  submission.model = kModel;
  submission.lane_key = schemas::machine_id(request.spec.machine);
  submission.machine = request.spec.machine;
  submission.wake = context.submit.new_id(schemas::Kind::kMachine);
  submission.key_id = submission.actor = call.principal->key_id;
  if (request.retry_on_worker_loss) submission.rerun = schemas::Rerun::kAtLeastOnce;
  submission.traceparent = traceparent(call.head());
  submission.metadata = request.metadata;
  submission.start = request.start;
  submission.run_at_max = context.options.run_at_max;
  mark_batch_line(context, call, submission);
  if (!request.environment.empty())
    submission.secret =
        base::seal(context.secret_key, submission.id.str(), schemas::to_json(request.environment));
  if (auto stored = store_payload(context, request, submission); !stored) return stored.error();
  return submission;
}

base::Status may_run(const Context& context, const schemas::Machine& machine) {
  const bool off =
      machine.driver == schemas::MachineDriver::kSandbox && !context.options.executions_off.empty();
  if (off) return base::error(Code::kOverloaded, context.options.executions_off);
  return {};
}

namespace {

// Sends the current state of the execution.
void send_execution(Context& context, Call& call, const JobId& id, bool replayed) {
  const auto found = find_execution(context.store, call.tenant(), id);
  if (!found) return call.fail(found.error());
  front::Reply reply = execution_reply(*found);
  if (replayed) add_header(reply, "idempotent-replayed", "true");
  call.reply(std::move(reply));
}

void submit(Context& context, const CallPtr& call, storage::Submission submission) {
  context.submit.submit(std::move(submission), [&context, call](const base::Result<Submitted>& made) {
    if (!made) return call->fail(made.error());
    call->set_job_id(made->job.str());
    reply_on_pool(context, call, [&context, call, id = made->job, replayed = made->replayed] {
      send_execution(context, *call, id, replayed);
    });
  });
}

using KnownResult = std::optional<schemas::ExecutionResult>;

// Runs on the commit thread, which opens no files: a result in a blob was read before (`known`).
KnownResult result_of(const storage::JobRecord& record, const KnownResult& known) {
  if (!record.result || record.result->blob) return known;
  const auto read = schemas::execution_result_from_json(record.result->bytes);
  if (!read) return known;
  return *read;
}

// The record's spec was read before the commit, because it may be in a blob.
storage::ReplyBuilder<storage::JobRecord> reply_builder(schemas::ExecutionSpec spec, KnownResult known) {
  return [spec = std::move(spec), known](const storage::JobRecord& record) {
    return schemas::execution_json(record.job, spec, result_of(record, known), record.artifacts);
  };
}

void cancel_or_delete(Context& context, const CallPtr& call, const JobId& id,
                      std::optional<storage::IdempotencyKey> key,
                      storage::ReplyBuilder<storage::JobRecord> build_reply) {
  context.intake.cancel_or_delete(id, idempotent_call(context, *call, std::move(key)), std::move(build_reply),
                                  reply_callback(call));
}

// Sends a page of `records`. If there are more than `limit`, another page follows.
void send_records(Context& context, Call& call, std::vector<storage::JobRecord> records, std::size_t limit) {
  Page page(context);
  base::Uuid last;
  while (page.count() < std::min(limit, records.size())) {
    storage::JobRecord& record = records[page.count()];
    const base::Uuid id = record.job.id.uuid;
    const auto execution = execution_of(context.store, std::move(record));
    if (!execution) return call.fail(execution.error());
    if (!page.add(execution->json())) break;
    last = id;
  }
  const bool more = page.count() > 0 && page.count() < records.size();
  page.send(call, more ? job_cursor(last) : std::string());
}

}  // namespace

std::span<const Field> execution_list_fields() { return kPageFields; }

void create_execution(Context& context, CallPtr call) {
  if (!path_machine(*call)) return;
  auto key = required_key(*call, "command");
  if (!key) return call->fail(key.error());
  auto request = schemas::parse_execution_request(call->body());
  if (!request) return call->refuse(request.error());
  call->drop_body();
  const auto machine = find_path_machine(context, *call);
  if (!machine) return;
  if (const auto runs = may_run(context, *machine); !runs) return call->fail(runs.error());
  request->spec.machine = machine->id;
  request->spec.has_input = !request->input.empty();
  auto submission = execution_submission(context, *call, *request);
  if (!submission) return call->fail(submission.error());
  submission->idempotency = std::move(*key);
  if (const auto good = add_request_webhook(context, *call, *submission); !good)
    return call->fail(good.error());
  submit(context, call, std::move(*submission));
}

void list_executions(Context& context, CallPtr call) {
  if (!path_machine(*call)) return;
  PageQuery query;
  std::optional<base::Uuid> before;
  if (!read_query(*call, kPageFields, &query)) return;
  if (!read_cursor(*call, query.cursor, &job_cursor_of, before)) return;
  const auto machine = find_path_machine(context, *call);
  if (!machine) return;
  auto records = storage::JobQueries(context.store)
                     .lane(call->tenant(), schemas::Kind::kExec, schemas::machine_id(machine->id),
                           query.limit + 1, before);
  if (!records) return call->fail(records.error());
  send_records(context, *call, std::move(*records), static_cast<std::size_t>(query.limit));
}

void get_execution(Context& context, CallPtr call) {
  const auto found = find_path_execution(context, *call);
  if (found) call->reply(execution_reply(*found));
}

// If an earlier call with the same key has deleted the execution, its stored reply is repeated.
void delete_execution(Context& context, CallPtr call) {
  const auto id = path_execution(*call);
  if (!id) return;
  auto key = optional_key(*call);
  if (!key) return call->fail(key.error());
  auto found = find_execution(context.store, call->tenant(), *id);
  const bool was_deleted = !found && found.error().code == Code::kNotFound;
  if (was_deleted && *key)
    return cancel_or_delete(context, call, *id, std::move(*key), reply_builder({}, {}));
  if (!found) return call->fail(found.error());
  if (schemas::machine_id(found->spec.machine) != call->params.front())
    return call->fail(base::error(Code::kNotFound, "There is no such execution"));
  cancel_or_delete(context, call, *id, std::move(*key), reply_builder(std::move(found->spec), found->result));
}

}  // namespace millrace::api

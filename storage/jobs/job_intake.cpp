#include "storage/jobs/job_intake.h"

#include <limits>
#include <memory>
#include <utility>

#include "schemas/jobs/job_start.h"
#include "schemas/machines/artifact.h"
#include "schemas/machines/machine.h"
#include "storage/admin/audit.h"
#include "storage/blobs/blob_rows.h"
#include "storage/files/files.h"
#include "storage/jobs/idempotency.h"
#include "storage/jobs/job_queries.h"
#include "storage/jobs/job_rows.h"
#include "storage/jobs/job_transitions.h"
#include "storage/jobs/kind_rules.h"
#include "storage/jobs/payload_rows.h"
#include "storage/machines/machine_rows.h"
#include "storage/machines/waiting_executions.h"
#include "storage/tenants/reservations.h"
#include "storage/workers/processes.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;

constexpr std::size_t kIntakeRowBytes = 512;  // of the rows beside the payload, for the group's limit

// The job runs at the client's time, and its deadline counts from there.
void schedule(const Tx& tx, const Submission& s, JobRow& row) {
  if (!s.start) return;
  const auto* time = std::get_if<base::WallTime>(&*s.start);
  const base::WallTime now = time ? tx.now : tx.steady();
  const base::WallTime run_at = time ? *time : now + std::get<std::chrono::milliseconds>(*s.start);
  if (run_at <= now) return;
  row.schedule = time ? Schedule::kTime : Schedule::kDelay;
  row.run_at = base::millis(run_at);
  row.deadline = base::millis(run_at + s.deadline_after.value_or(schemas::kDefaultJobDeadline));
}

JobRow new_row(const Tx& tx, const Submission& s) {
  JobRow row;
  row.id = s.id.uuid;
  row.kind = s.id.kind;
  row.tenant = s.tenant;
  row.priority = s.priority;
  row.rerun = s.rerun.value_or(schemas::Rerun::kAtLeastOnce);
  row.created_at = base::millis(tx.now);
  row.deadline = base::millis(tx.now + s.deadline_after.value_or(schemas::kDefaultJobDeadline));
  row.jumped_ms = tx.jumped.count();
  schedule(tx, s, row);
  row.model = s.model;
  row.lane_key = s.machine ? schemas::machine_id(*s.machine) : s.lane_key;
  row.key_id = s.key_id;
  row.cost_max = s.cost_max;
  row.metadata = s.metadata;
  const std::int64_t spec_bytes = s.spec_blob ? s.spec_blob->ref().bytes : std::ssize(s.spec);
  row.bytes = spec_bytes + (s.input ? s.input->ref().bytes : 0);
  return row;
}

std::optional<base::Error> start_refusal(const Tx& tx, const Submission& s) {
  if (!s.start) return std::nullopt;
  const base::Status good = schemas::check_start(*s.start, tx.now, s.run_at_max);
  if (good) return std::nullopt;
  return good.error();
}

// The refusal if this job would exceed a quota or a budget of its owners.
std::optional<base::Error> quota_refusal(Tx& tx, const JobRow& row) {
  const Owner owner{row.tenant, row.key_id};
  auto refused =
      tx.quotas.refusal(tx.db, owner, {.open_jobs = 1, .stored_jobs = 1, .stored_bytes = row.bytes});
  if (!refused) refused = budget_refusal(tx, owner, row.cost_max);
  if (refused || !kind_rules(row.kind).counts_pages) return refused;
  return tx.quotas.pages_refusal(tx.db, owner, 1);  // it has at least one
}

// What the submission's key has created before. Absent: nothing; unless `find_only`, the key is claimed now.
std::optional<base::Result<Submitted>> find_previous(Tx& tx, const Submission& s, JobRow& row,
                                                     bool find_only) {
  if (!s.idempotency) return std::nullopt;
  row.idempotency = idempotency_hash(s.tenant, *s.idempotency);
  if (!find_only) return claim_key(tx.db, row.idempotency, *s.idempotency, s.id);
  return find_key(tx.db, row.idempotency, *s.idempotency);
}

// The input is the content of a file, which the job then shares. An error: there is no such file.
base::Status take_input_file(Tx& tx, const Submission& s, JobRow& row) {
  if (!s.input_file) return {};
  row.input = blob_of_file(tx.db, s.tenant, *s.input_file, tx.now);
  if (!row.input) return no_such_file();
  row.bytes += blob_bytes(tx.db, row.input);
  return {};
}

base::Result<Submitted> submit_in(Tx& tx, const Store::Options& options, const Submission& s,
                                  BlobClaim& blob_claim) {
  JobRow row = new_row(tx, s);
  base::Result<MachineUse> use = MachineUse{.is_awake = true, .use_recorded = true};
  if (s.machine) use = check_machine(tx, s.tenant, *s.machine);
  std::optional<base::Error> refused = start_refusal(tx, s);
  if (const base::Status taken = take_input_file(tx, s, row); !refused && !taken) refused = taken.error();
  if (!refused) refused = use ? quota_refusal(tx, row) : use.error();
  base::Result<std::optional<base::Uuid>> endpoint = std::optional<base::Uuid>();
  if (s.webhook) endpoint = find_request_webhook(tx, s.tenant, *s.webhook);
  if (!refused && !endpoint) refused = endpoint.error();
  if (!refused && s.batch_line) refused = line_refusal(tx, *s.batch_line, s.cost_max);
  if (auto made = find_previous(tx, s, row, refused.has_value())) {
    if (s.batch_line && !refused && *made) take_line(tx, *s.batch_line, (*made)->job, 0);
    return *made;
  }
  if (refused) return std::move(*refused);
  const bool is_scheduled = row.is_scheduled();
  if (!use->is_awake && !is_scheduled) row.run_at = kWaitsForMachine;
  std::optional<std::int64_t> spec_blob;
  if (s.spec_blob) spec_blob = blob_claim.take(tx.db, s.tenant, s.spec_blob);
  if (s.input) row.input = blob_claim.take(tx.db, s.tenant, s.input);
  if (s.input_file) add_ref(tx.db, *row.input);
  row.spec = insert_job_spec(tx.db, {s.spec, spec_blob, s.traceparent, s.name});
  if (!s.secret.empty()) insert_secret(tx.db, row.id, s.secret);
  if (s.webhook)
    add_request_webhook(tx, *s.webhook,
                        {.tenant = s.tenant, .key_id = s.key_id, .job = row.id, .endpoint = *endpoint});
  reserve_for_job(tx, row);
  const auto run_at = scheduled_time(row, tx.jumped);
  JobTransitions(tx, options).enqueue(std::move(row), s.traceparent);
  place_job(tx.db, s.id.uuid, use->host);
  if (s.machine && !is_scheduled) use_machine(tx, options, {s.tenant, *s.machine, s.wake}, *use);
  if (s.batch_line) take_line(tx, *s.batch_line, s.id, s.cost_max);
  audit_execution(tx, {s.tenant, s.actor}, "create", s.id);
  return Submitted{s.id, false, JobStatus::kQueued, run_at};
}

// A submission that is queued in the writer. It is allocated once and shared by the operation and the
// completion.
struct SubmitOperation {
  const Store::Options& options;
  Submission request;
  Callback<Submitted> done;
  BlobClaim blob_claim{};
  base::Result<Submitted> made = base::error(base::Code::kInternal, "the write did not run");

  base::Status run(Tx& tx) {
    blob_claim.begin();
    made = submit_in(tx, options, request, blob_claim);
    if (!made) return made.error();
    return {};
  }

  void prefetch(Db& db) const {
    if (request.idempotency) prefetch_key(db, idempotency_hash(request.tenant, *request.idempotency));
  }

  void complete(base::Status status) {
    if (!status) return done(std::move(status.error()));
    blob_claim.committed();
    done(std::move(made));
  }
};

bool may_be_retried(JobStatus status) {
  return status == JobStatus::kFailed || status == JobStatus::kCancelled || status == JobStatus::kExpired;
}

std::optional<Submitted> newest_retry(Db& db, const schemas::JobId& job) {
  auto s = db.prepare("SELECT id, status FROM jobs WHERE retry_of = ?1 ORDER BY id DESC LIMIT 1");
  if (!s.bind(job.uuid).step()) return std::nullopt;
  return Submitted{{job.kind, s.uuid(0)}, true, static_cast<JobStatus>(s.integer(1))};
}

base::Result<Submitted> retry_in(Tx& tx, const Store::Options& options, const Retry& request) {
  const auto old = find_root(tx.db, request.by.tenant, request.old);
  if (!old) return no_such_job();
  if (request.by.only_own && old->key_id != request.by.actor) {
    return base::error(
        base::Code::kForbidden,
        "this API key may use only some models or MCP servers, so it retries only its own jobs");
  }
  JobRow row;
  if (request.idempotency) {
    row.idempotency = idempotency_hash(request.by.tenant, *request.idempotency);
    if (auto made = find_key(tx.db, row.idempotency, *request.idempotency)) return *made;
  }
  if (is_removed(tx.db, old->id)) return no_such_job();
  if (!may_be_retried(old->status)) {
    return base::error(base::Code::kInvalidState, "only failed, expired and cancelled jobs can be retried");
  }
  if (!schemas::can_be_retried(old->kind)) {
    return base::error(base::Code::kInvalidState,
                       "a job of this kind cannot be retried from its stored data; submit it again");
  }
  if (request.only_once) {
    if (auto before = newest_retry(tx.db, old->job())) return *before;
  }
  const auto spec = find_spec(tx.db, old->spec);
  if (!spec || (!old->input && kind_rules(old->kind).drops_bad_input)) {
    return base::error(base::Code::kInvalidState, "the job's input is no longer stored; submit it again");
  }
  const bool has_lost_input = old->input && !find_blob(tx.db, *old->input);
  if (spec->payload.damaged || has_lost_input) return damaged_payload(base::Code::kRequestDamaged);
  row.id = request.new_job.uuid;
  row.kind = old->kind;
  row.tenant = old->tenant;
  row.priority = old->priority;
  row.rerun = old->rerun;
  row.created_at = base::millis(tx.now);
  row.deadline = base::millis(tx.now + request.deadline_after);
  row.jumped_ms = tx.jumped.count();
  row.model = old->model;
  row.lane_key = old->lane_key;
  row.retry_of = old->id;
  row.metadata = old->metadata;
  row.input = old->input;
  row.key_id = request.by.actor;
  row.cost_max = old->cost_max;
  if (!row.cost_max && request.cost_max) row.cost_max = *request.cost_max;
  if (!row.cost_max && tx.quotas.has_budget(tx.db, {row.tenant, row.key_id})) return request.cost_max.error();
  row.bytes = spec_bytes(tx.db, old->spec) + blob_bytes(tx.db, old->input);
  if (auto refused = quota_refusal(tx, row)) return std::move(*refused);
  if (request.idempotency) claim_key(tx.db, row.idempotency, *request.idempotency, request.new_job);
  if (row.input) add_ref(tx.db, *row.input);
  if (spec->blob) add_ref(tx.db, *spec->blob);
  row.spec = insert_spec(tx.db, {spec->payload.bytes, spec->blob, request.traceparent, spec->name});
  reserve_for_job(tx, row);
  JobTransitions(tx, options).enqueue(std::move(row), request.traceparent);
  return Submitted{request.new_job, false, JobStatus::kQueued};
}

}  // namespace

void JobIntake::submit(Submission submission, Callback<Submitted> done) {
  if (submission.spec.size() > kInlineMax) {
    return done(base::error(base::Code::kInternal, "a spec above 32 KiB must be passed as a blob"));
  }
  if (submission.secret.size() > kSecretMax ||
      (!submission.secret.empty() && !kind_rules(submission.id.kind).keeps_secrets)) {
    return done(
        base::error(base::Code::kInternal, "a secret has at most 256 KiB, and only executions have one"));
  }
  const std::size_t bytes =
      submission.spec.size() + submission.secret.size() + submission.metadata.size() + kIntakeRowBytes;
  auto intake = std::make_shared<SubmitOperation>(store_.options(), std::move(submission), std::move(done));
  store_.writer().submit(
      Writer::Priority::kNormal, bytes,
      {[intake](Tx& tx) { return intake->run(tx); }, [intake](Db& db) { intake->prefetch(db); }},
      [intake](base::Status status) { intake->complete(std::move(status)); });
}

void JobIntake::retry(Retry retry, Callback<Submitted> done) {
  const Store::Options& options = store_.options();
  submit_write<Submitted>(
      store_.writer(), Writer::Priority::kNormal, kIntakeRowBytes,
      [request = std::move(retry), &options](Tx& tx) { return retry_in(tx, options, request); },
      std::move(done));
}

// Cancelling and deleting jobs.

namespace {

using schemas::JobStatus;

constexpr std::size_t kEndRowBytes = 512;

base::Error parts_still_running() {
  return base::error(base::Code::kInvalidState,
                     "parts of the job are still running; delete it after they have ended");
}

// REQUIRES: the job is open.
void cancel_open(Tx& tx, const Store::Options& options, const Caller& by, JobRow& row) {
  audit_execution(tx, by, "cancel", {row.kind, row.id});
  JobTransitions transitions(tx, options);
  if (row.status != JobStatus::kRunning) return transitions.end(row, {.status = JobStatus::kCancelled});
  transitions.request_cancel(row);
}

base::Result<schemas::JobView> cancel_in(Tx& tx, const Store::Options& options, const Caller& by,
                                         const schemas::JobId& job) {
  auto row = find_root(tx.db, by.tenant, job);
  if (!row) return no_such_job();
  if (!schemas::is_terminal(row->status)) cancel_open(tx, options, by, *row);
  return *find_view(tx.db, row->id, options);
}

// REQUIRES: the job is terminal.
void erase(Tx& tx, const Caller& by, const JobRow& row) {
  audit_execution(tx, by, "delete", {row.kind, row.id});
  erase_job(tx, row, std::numeric_limits<int>::max());
}

struct CancelOrDeleteRequest {
  schemas::JobId job;
  IdempotentCall call;
  ReplyBuilder<JobRecord> reply;
};

base::Result<CallReply> cancel_or_delete_in(Tx& tx, const Store::Options& options,
                                            const CancelOrDeleteRequest& request) {
  if (const auto before = find_stored_reply(tx, request.call)) {
    return *before;
  }
  const Caller by{request.call.tenant, request.call.actor};
  auto row = find_root(tx.db, by.tenant, request.job);
  if (!row) return no_such_job();
  const bool ended = schemas::is_terminal(row->status);
  if (ended && row->children_left > 0) return parts_still_running();
  if (!ended) cancel_open(tx, options, by, *row);
  std::string body = request.reply(record_of(tx.db, options, *row));
  if (ended) erase(tx, by, *row);
  return store_reply(tx, request.call, std::move(body));
}

struct RemoveRequest {
  schemas::JobId job;
  IdempotentCall call;
  ReplyBuilder<schemas::JobView> reply;
};

constexpr int kFilesMax = 2 * schemas::kArtifactsMax;  // those of the job; a backlog goes with retention

// What a repeat of the call shows after the job is deleted: nothing of its contents.
schemas::JobView without_contents(schemas::JobView job) {
  job.name.clear();
  job.metadata.clear();
  if (job.error) job.error->message.clear();
  return job;
}

base::Result<Removed> remove_in(Tx& tx, const Store::Options& options, const RemoveRequest& request) {
  if (const auto before = find_stored_reply(tx, request.call)) {
    if (!*before) return before->error();
    return Removed{**before, {}};
  }
  const Caller by{request.call.tenant, request.call.actor};
  auto row = find_root(tx.db, by.tenant, request.job);
  if (!row) return no_such_job();
  append_audit(tx,
               {.tenant = by.tenant, .actor = by.actor, .act = "job.delete", .target = request.job.str()});
  if (!schemas::is_terminal(row->status)) cancel_open(tx, options, by, *row);
  schemas::JobView job = *find_named_view(tx.db, row->id, options);
  std::string body = request.reply(job);
  store_reply(tx, request.call, request.reply(without_contents(std::move(job))));
  std::vector<std::string> files;
  if (schemas::is_terminal(row->status) && row->children_left == 0) {
    erase_job(tx, *row, std::numeric_limits<int>::max());
    files = delete_unreferenced(tx.db, kFilesMax);
  } else {
    tx.db.prepare("UPDATE jobs SET removed = 1 WHERE id = ?1").bind(row->id).run();
  }
  return Removed{{std::move(body), false}, std::move(files)};
}

}  // namespace

void JobIntake::remove(schemas::JobId job, IdempotentCall call, ReplyBuilder<schemas::JobView> reply,
                       Callback<Removed> done) {
  const Store::Options& options = store_.options();
  submit_write<Removed>(
      store_.writer(), Writer::Priority::kInteractive, kEndRowBytes,
      [request = RemoveRequest{job, std::move(call), std::move(reply)}, &options](Tx& tx) {
        return remove_in(tx, options, request);
      },
      std::move(done));
}

void JobIntake::cancel(Caller by, schemas::JobId job, Callback<schemas::JobView> done) {
  const Store::Options& options = store_.options();
  submit_write<schemas::JobView>(
      store_.writer(), Writer::Priority::kInteractive, kEndRowBytes,
      [by = std::move(by), job, &options](Tx& tx) { return cancel_in(tx, options, by, job); },
      std::move(done));
}

void JobIntake::cancel_or_delete(schemas::JobId job, IdempotentCall call, ReplyBuilder<JobRecord> reply,
                                 Callback<CallReply> done) {
  const Store::Options& options = store_.options();
  submit_write<CallReply>(
      store_.writer(), Writer::Priority::kInteractive, kEndRowBytes,
      [request = CancelOrDeleteRequest{job, std::move(call), std::move(reply)}, &options](Tx& tx) {
        return cancel_or_delete_in(tx, options, request);
      },
      std::move(done));
}

}  // namespace millrace::storage

#include "storage/job_intake.h"

#include <memory>
#include <utility>

#include "schemas/machine.h"
#include "storage/audit_rows.h"
#include "storage/blob_rows.h"
#include "storage/failures.h"
#include "storage/idempotency_rows.h"
#include "storage/job_moves.h"
#include "storage/kind_rules.h"
#include "storage/machine_table.h"
#include "storage/machine_waiting.h"
#include "storage/payload_rows.h"
#include "storage/secret_rows.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;

constexpr std::size_t kIntakeRowBytes = 512;  // of the rows beside the payload, for the group's limit

JobRow new_row(const Tx& tx, const Submission& s) {
  JobRow row;
  row.id = s.id.uuid;
  row.kind = s.id.kind;
  row.tenant = s.tenant;
  row.priority = s.priority;
  row.rerun = s.rerun;
  row.created_at = base::millis(tx.now);
  row.deadline = base::millis(tx.now + s.deadline_after);
  row.model = s.model;
  row.lane_key = s.machine ? schemas::machine_id(*s.machine) : s.lane_key;
  return row;
}

// What the submission's key has created before. Absent: nothing; unless `only_looks`, the key is claimed now.
std::optional<base::Result<Submitted>> made_before(Tx& tx, const Submission& s, JobRow& row,
                                                   bool only_looks) {
  if (!s.idempotency) return std::nullopt;
  row.idempotency = idempotency_hash(s.tenant, *s.idempotency);
  if (!only_looks) return take_key(tx.db, row.idempotency, *s.idempotency, s.id);
  return find_key(tx.db, row.idempotency, *s.idempotency);
}

// Marks the machine as used and wakes it if it is asleep.
void use_machine(Tx& tx, const Store::Options& options, const Submission& s, const MachineUse& use) {
  if (use.awake && !use.noted) note_use(tx, *s.machine);
  if (use.awake) return;
  auto machine = find_machine(tx.db, s.tenant, *s.machine);
  if (machine) want_awake(tx, options, *machine, s.wake);
}

base::Result<Submitted> submit_in(Tx& tx, const Store::Options& options, const Submission& s,
                                  Adoption& adoption) {
  JobRow row = new_row(tx, s);
  base::Result<MachineUse> use = MachineUse{.awake = true, .noted = true};
  if (s.machine) use = look_at_machine(tx, s.tenant, *s.machine);
  if (auto made = made_before(tx, s, row, s.join_only || !use)) return *made;
  if (s.join_only) return base::error(base::Code::kNotFound, "no job was made with this key");
  if (!use) return use.error();
  if (!use->awake) row.run_at = kWaitsForMachine;
  std::optional<std::int64_t> spec_blob;
  if (s.spec_blob) spec_blob = adoption.take(tx.db, s.tenant, s.spec_blob);
  if (s.input) row.input = adoption.take(tx.db, s.tenant, s.input);
  row.spec = insert_job_spec(tx.db, {s.spec, spec_blob, s.traceparent});
  if (!s.secret.empty()) insert_secret(tx.db, row.id, s.secret);
  JobMoves(tx, options).enqueue(std::move(row), s.traceparent);
  if (s.machine) use_machine(tx, options, s, *use);
  audit_execution(tx, {s.tenant, s.actor}, "create", s.id);
  return Submitted{s.id, false, JobStatus::kQueued};
}

// A submission that is queued in the writer. It is allocated once and shared by the operation and the
// completion.
struct SubmitMove {
  const Store::Options& options;
  Submission order;
  Done<Submitted> done;
  Adoption adoption{};
  base::Result<Submitted> made = base::error(base::Code::kInternal, "move did not run");

  base::Status run(Tx& tx) {
    adoption.begin();
    made = submit_in(tx, options, order, adoption);
    if (!made) return made.error();
    return {};
  }

  void tell(base::Status status) {
    if (!status) return done(std::move(status.error()));
    adoption.committed();
    done(std::move(made));
  }
};

struct RetryOrder {
  std::string tenant;
  schemas::JobId old, fresh;
  std::string traceparent;
  std::chrono::milliseconds deadline_after;
};

bool may_be_retried(JobStatus status) {
  return status == JobStatus::kFailed || status == JobStatus::kCancelled || status == JobStatus::kExpired;
}

base::Result<Submitted> retry_in(Tx& tx, const Store::Options& options, const RetryOrder& order) {
  const auto old = find_root(tx.db, order.tenant, order.old);
  if (!old) return no_such_job();
  if (!may_be_retried(old->status)) {
    return base::error(base::Code::kInvalidState, "only failed, expired and cancelled jobs can be retried");
  }
  if (!schemas::can_be_retried(old->kind)) {
    return base::error(base::Code::kInvalidState,
                       "a job of this kind is not run again from what is stored of it; submit it again");
  }
  const auto spec = find_spec(tx.db, old->spec);
  const bool has_input =
      old->input ? find_blob(tx.db, *old->input).has_value() : !kind_rules(old->kind).drops_bad_input;
  if (!spec || !has_input) {
    return base::error(base::Code::kInvalidState, "the job's input is no longer stored; submit it again");
  }
  if (spec->payload.damaged) return damaged_payload(*spec->payload.damaged);
  JobRow row;
  row.id = order.fresh.uuid;
  row.kind = old->kind;
  row.tenant = old->tenant;
  row.priority = old->priority;
  row.rerun = old->rerun;
  row.created_at = base::millis(tx.now);
  row.deadline = base::millis(tx.now + order.deadline_after);
  row.model = old->model;
  row.lane_key = old->lane_key;
  row.retry_of = old->id;
  row.input = old->input;
  if (row.input) add_ref(tx.db, *row.input);
  if (spec->blob) add_ref(tx.db, *spec->blob);
  row.spec = insert_spec(tx.db, {spec->payload.bytes, spec->blob, order.traceparent});
  JobMoves(tx, options).enqueue(std::move(row), order.traceparent);
  return Submitted{order.fresh, false, JobStatus::kQueued};
}

}  // namespace

void JobIntake::submit(Submission submission, Done<Submitted> done) {
  if (submission.spec.size() > kInlineMax) {
    return done(base::error(base::Code::kInternal, "a spec above 32 KiB must travel as a blob"));
  }
  if (submission.secret.size() > kSecretMax ||
      (!submission.secret.empty() && !kind_rules(submission.id.kind).keeps_secrets)) {
    return done(
        base::error(base::Code::kInternal, "a secret has at most 256 KiB, and only executions have one"));
  }
  const std::size_t bytes = submission.spec.size() + submission.secret.size() + kIntakeRowBytes;
  auto intake = std::make_shared<SubmitMove>(store_.options(), std::move(submission), std::move(done));
  store_.writer().submit(
      Writer::Priority::kNormal, bytes, [intake](Tx& tx) { return intake->run(tx); },
      [intake](base::Status status) { intake->tell(std::move(status)); });
}

void JobIntake::retry(std::string tenant, schemas::JobId old, schemas::JobId fresh, std::string traceparent,
                      std::chrono::milliseconds deadline_after, Done<Submitted> done) {
  RetryOrder order{std::move(tenant), old, fresh, std::move(traceparent), deadline_after};
  const Store::Options& options = store_.options();
  submit_move<Submitted>(
      store_.writer(), Writer::Priority::kNormal, kIntakeRowBytes,
      [order = std::move(order), &options](Tx& tx) { return retry_in(tx, options, order); }, std::move(done));
}

}  // namespace millrace::storage

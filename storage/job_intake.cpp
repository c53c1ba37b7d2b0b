#include "storage/job_intake.h"

#include <limits>
#include <memory>
#include <utility>

#include "storage/blob_rows.h"
#include "storage/idempotency_rows.h"
#include "storage/job_moves.h"
#include "storage/job_removal.h"
#include "storage/job_views.h"
#include "storage/kind_rules.h"
#include "storage/payload_rows.h"
#include "storage/secret_rows.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;

constexpr std::size_t kRowBytes = 512;  // of the rows around a payload, for the group's bound

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
  row.lane_key = s.lane_key;
  return row;
}

base::Result<Submitted> submit_in(Tx& tx, const Store::Options& options, const Submission& s,
                                  Adoption& adoption) {
  JobRow row = new_row(tx, s);
  if (s.idempotency) {
    row.idempotency = idempotency_hash(s.tenant, *s.idempotency);
    if (s.join_only) {
      auto made = find_key(tx.db, row.idempotency, *s.idempotency);
      if (made) return *made;
      return base::error(base::Code::kNotFound, "no job was made with this key");
    }
    if (auto made = take_key(tx.db, row.idempotency, *s.idempotency, s.id)) return *made;
  }
  std::optional<std::int64_t> spec_blob;
  if (s.spec_blob) spec_blob = adoption.take(tx.db, s.tenant, s.spec_blob);
  if (s.input) row.input = adoption.take(tx.db, s.tenant, s.input);
  row.spec = insert_spec(tx.db, s.spec, spec_blob, s.traceparent);
  if (!s.secret.empty()) insert_secret(tx.db, row.id, s.secret);
  JobMoves(tx, options).enqueue(row, s.traceparent);
  return Submitted{s.id, false, JobStatus::kQueued};
}

using Key = std::optional<IdempotencyKey>;

base::Result<schemas::JobView> cancel_in(Tx& tx, const Store::Options& options, const std::string& tenant,
                                         const schemas::JobId& job, const Key& key) {
  auto row = find_root(tx.db, tenant, job);
  if (!row) return base::error(base::Code::kNotFound, "no such job");
  if (key) {
    if (const auto taken = take_call_key(tx, tenant, *key, job); !taken) return taken.error();
  }
  if (row->status == JobStatus::kRunning) {
    tx.db.prepare("UPDATE jobs SET cancel_requested = 1 WHERE id = ?1 AND status = 1").bind(row->id).run();
  } else if (!schemas::is_terminal(row->status)) {
    JobMoves(tx, options).end(*row, {.status = JobStatus::kCancelled});
  }
  return *find_view(tx.db, row->id, options);
}

base::Result<bool> forget_in(Tx& tx, const std::string& tenant, const schemas::JobId& job, const Key& key) {
  const auto row = find_root(tx.db, tenant, job);
  if (!row) return base::error(base::Code::kNotFound, "no such job");
  if (!schemas::is_terminal(row->status)) {
    return base::error(base::Code::kInvalidState,
                       "only a job that has ended can be forgotten; cancel it first");
  }
  if (row->children_left > 0) {
    return base::error(base::Code::kInvalidState,
                       "parts of the job still run; ask again when they have ended");
  }
  if (key) {
    auto taken = take_call_key(tx, tenant, *key, job);
    if (!taken || !*taken) return taken;
  }
  erase_job(tx, *row, std::numeric_limits<int>::max());
  return true;
}

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
  if (!old) return base::error(base::Code::kNotFound, "no such job");
  if (!may_be_retried(old->status)) {
    return base::error(base::Code::kInvalidState, "only failed, expired and cancelled jobs can be retried");
  }
  if (!kind_rules(old->kind).can_be_retried()) {
    return base::error(base::Code::kInvalidState, "its environment is gone; submit it again");
  }
  const auto spec = find_spec(tx.db, old->spec);
  const bool has_input = !old->input || find_blob(tx.db, *old->input);
  if (!spec || !has_input) {
    return base::error(base::Code::kInvalidState, "the job's input is no longer stored; submit it again");
  }
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
  row.spec = insert_spec(tx.db, spec->payload.bytes, spec->blob, order.traceparent);
  JobMoves(tx, options).enqueue(row, order.traceparent);
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
  const std::size_t bytes = submission.spec.size() + submission.secret.size() + kRowBytes;
  auto adoption = std::make_shared<Adoption>();
  const Store::Options& options = store_.options();
  submit_move<Submitted>(
      store_.writer(), Writer::Priority::kNormal, bytes,
      [submission = std::move(submission), adoption, &options](Tx& tx) {
        adoption->begin();
        return submit_in(tx, options, submission, *adoption);
      },
      adopting<Submitted>(adoption, std::move(done)));
}

void JobIntake::cancel(std::string tenant, schemas::JobId job, Done<schemas::JobView> done,
                       std::optional<IdempotencyKey> key) {
  const Store::Options& options = store_.options();
  submit_move<schemas::JobView>(
      store_.writer(), Writer::Priority::kAsked, kRowBytes,
      [tenant = std::move(tenant), job, key = std::move(key), &options](Tx& tx) {
        return cancel_in(tx, options, tenant, job, key);
      },
      std::move(done));
}

void JobIntake::forget(std::string tenant, schemas::JobId job, Done<bool> done,
                       std::optional<IdempotencyKey> key) {
  submit_move<bool>(
      store_.writer(), Writer::Priority::kAsked, kRowBytes,
      [tenant = std::move(tenant), job, key = std::move(key)](Tx& tx) {
        return forget_in(tx, tenant, job, key);
      },
      std::move(done));
}

void JobIntake::retry(std::string tenant, schemas::JobId old, schemas::JobId fresh, std::string traceparent,
                      std::chrono::milliseconds deadline_after, Done<Submitted> done) {
  RetryOrder order{std::move(tenant), old, fresh, std::move(traceparent), deadline_after};
  const Store::Options& options = store_.options();
  submit_move<Submitted>(
      store_.writer(), Writer::Priority::kNormal, kRowBytes,
      [order = std::move(order), &options](Tx& tx) { return retry_in(tx, options, order); }, std::move(done));
}

}  // namespace millrace::storage

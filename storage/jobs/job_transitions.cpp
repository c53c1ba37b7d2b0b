#include "storage/jobs/job_transitions.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "storage/blobs/blob_rows.h"
#include "storage/jobs/idempotency.h"
#include "storage/jobs/job_maintenance.h"
#include "storage/jobs/job_rows.h"
#include "storage/jobs/kind_rules.h"
#include "storage/jobs/maintenance_steps.h"
#include "storage/jobs/payload_rows.h"
#include "storage/jobs/queue_positions.h"
#include "storage/machines/machine_rows.h"
#include "storage/machines/waiting_executions.h"
#include "storage/sql.h"
#include "storage/tenants/reservations.h"
#include "storage/webhooks/webhook_outbox.h"
#include "storage/workers/workers.h"

namespace millrace::storage {
namespace {

bool is_waking(const JobRow& row) {
  return row.status == schemas::JobStatus::kQueued && row.run_at == kWaitsForMachine;
}

}  // namespace

void publish_change(Tx& tx, const JobRow& row) {
  tx.commit.changes.push_back(
      {row.job(), row.tenant, row.version, row.status, is_waking(row), row.is_scheduled()});
}

void record_event(Tx& tx, JobRow& row, std::string_view type, std::string_view data) {
  if (row.parent) return;
  ++row.version;
  tx.db.prepare("INSERT INTO job_events (job, version, at, type, data) VALUES (?1, ?2, ?3, ?4, ?5)")
      .bind(row.id, row.version, base::millis(tx.now), type, data)
      .run();
  publish_change(tx, row);
}

void record_waiting_event(Tx& tx, const JobRow& row) {
  const auto run_at = scheduled_time(row, tx.jumped);
  const std::string data = run_at ? "{\"run_at\":\"" + base::rfc3339(*run_at) + "\"}" : "{}";
  tx.db.prepare("INSERT INTO job_events (job, version, at, type, data) VALUES (?1, 1, ?2, ?3, ?4)")
      .bind(row.id, row.created_at, schemas::public_status(row.status, is_waking(row), row.is_scheduled()),
            data)
      .run();
}

std::string error_data(const schemas::JobError& error) {
  nlohmann::json data = {{"code", base::name(error.code)}, {"message", error.message}};
  if (!error.param.empty()) data["param"] = error.param;
  return data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

namespace {

// Machine operations and parts of jobs do not count.
bool counts(const JobRow& row) { return !row.parent && !kind_rules(row.kind).internal; }

}  // namespace

void add_usage(Tx& tx, const JobRow& row, const QuotaLedger::Delta& delta) {
  if (counts(row)) tx.quotas.add(tx.db, {row.tenant, row.key_id}, delta);
}

void count_bytes(Tx& tx, const JobRow& row, std::int64_t delta) {
  delta = std::max(delta, -row.bytes);  // rows that are older than the column have 0
  if (delta == 0 || !counts(row)) return;
  tx.db.prepare("UPDATE jobs SET bytes = bytes + ?2 WHERE id = ?1").bind(row.id, delta).run();
  add_usage(tx, row, {.stored_bytes = delta});
}

using schemas::JobStatus;

LeaseCheck check_lease(Db& db, const Lease& lease, std::optional<JobStatus> target_status) {
  auto row = find_job(db, lease.job.uuid);
  if (!row || row->kind != lease.job.kind || row->attempt != lease.attempt || row->token != lease.token)
    return {};
  if (row->status == JobStatus::kRunning) return {std::move(row), ReportResult::kApplied};
  if (!target_status || !schemas::is_terminal(row->status)) return {};
  const bool cancel_won = row->status == JobStatus::kCancelled && target_status != JobStatus::kCancelled;
  return {std::nullopt, cancel_won ? ReportResult::kCancelled : ReportResult::kRepeated};
}

std::optional<JobRow> find_open_root(Db& db, const JobRow& leased) {
  if (!leased.parent) return leased;
  auto parent = find_job(db, *leased.parent);
  if (!parent || schemas::is_terminal(parent->status)) return std::nullopt;
  return parent;
}

namespace {

void insert_outbox_row(Tx& tx, const base::Uuid& job, std::int64_t epoch) {
  tx.db
      .prepare(R"(
          INSERT INTO outbox (job, epoch, marked_at) VALUES (?1, ?2, ?3)
          ON CONFLICT (job) DO UPDATE SET epoch = excluded.epoch, marked_at = excluded.marked_at)"_sql)
      .bind(job, epoch, base::millis(tx.steady()))
      .run();
}

std::int64_t window_size(const Tx& tx, schemas::Kind kind) {
  return std::max(kWindowMin, kWindowPerFreeSlot * free_slots(tx, kind));
}

// True if no token of the job's lane is published.
bool is_first_of_lane(const Tx& tx, const JobRow& row) {
  if (!kind_rules(row.kind).has_lanes) return false;
  const std::int64_t most = window_size(tx, row.kind) + kLaneTokensMax;
  auto s = tx.db.prepare(R"(
      SELECT count(*), coalesce(max(CASE WHEN model = ?2 THEN 1 ELSE 0 END), 0)
      FROM (SELECT model FROM jobs INDEXED BY jobs_published WHERE status = {queued}
          AND published_at > 0 AND kind = ?1 LIMIT ?3) AS published)"_sql);
  s.bind(row.kind, row.model, most).step();
  return s.integer(0) < most && s.integer(1) == 0;
}

}  // namespace

std::int64_t free_window_slots(const Tx& tx, schemas::Kind kind) {
  const std::int64_t size = window_size(tx, kind);
  auto s = tx.db.prepare(R"(
      SELECT count(*)
      FROM (SELECT 1 FROM jobs WHERE status = {queued} AND published_at > 0 AND kind = ?1 LIMIT ?2) AS published)"_sql);
  s.bind(kind, size).step();
  return size - s.integer(0);
}

std::int64_t WindowSlots::take(const JobRow& row) {
  note_ready(tx_, row);
  if (!options_.outbox) return 0;
  auto free_slots_left = free_slots_.find(row.kind);
  if (free_slots_left == free_slots_.end())
    free_slots_left = free_slots_.emplace(row.kind, free_window_slots(tx_, row.kind)).first;
  if (free_slots_left->second <= 0) return is_first_of_lane(tx_, row) ? base::millis(tx_.steady()) : 0;
  --free_slots_left->second;
  return base::millis(tx_.steady());
}

void WindowSlots::publish(const JobRow& row, std::string traceparent) {
  if (options_.outbox) {
    if (row.published_at == 0) return;
    insert_outbox_row(tx_, row.id, row.epoch);
  }
  tx_.commit.ready.push_back({row.job(), row.epoch, row.tenant, std::move(traceparent)});
}

void WindowSlots::unpublish(const JobRow& row) {
  if (row.published_at == 0) return;
  tx_.db.prepare("DELETE FROM outbox WHERE job = ?1").bind(row.id).run();
}

bool publish_now(Tx& tx, JobRow& row, std::int64_t epoch, std::vector<ReadyJob>& out) {
  auto s = tx.db.prepare(R"(
      UPDATE jobs SET epoch = ?2, published_at = ?3
      WHERE id = ?1 AND status = {queued} AND run_at = 0)"_sql);
  s.bind(row.id, epoch, base::millis(tx.steady())).run();
  if (s.changes() == 0) return false;
  row.epoch = epoch;
  row.published_at = base::millis(tx.steady());
  insert_outbox_row(tx, row.id, epoch);
  ReadyJob ready{row.job(), epoch, row.tenant, traceparent_of(tx.db, row.spec)};
  tx.commit.ready.push_back(ready);
  out.push_back(std::move(ready));
  return true;
}

namespace {

using schemas::JobStatus;

constexpr std::size_t kErrorMessageMax = 1024;  // bytes; keeps the row small

std::optional<std::string_view> code_of(const JobTransitionEnd& end) {
  if (!end.error) return std::nullopt;
  return base::name(end.error->code);
}
std::optional<std::string_view> message_of(const JobTransitionEnd& end) {
  if (!end.error) return std::nullopt;
  const std::string_view message = end.error->message;
  if (message.size() <= kErrorMessageMax) return message;
  std::size_t end_of_text = kErrorMessageMax;
  while (end_of_text > 0 && (message[end_of_text] & 0xC0) == 0x80)
    --end_of_text;  // never cuts a UTF-8 character
  return message.substr(0, end_of_text);
}

bool is_fault_of_recording(base::Code code) {
  return code == base::Code::kAudioDamaged || code == base::Code::kAudioEmpty ||
         code == base::Code::kAudioUnsupported || code == base::Code::kAudioTooLong;
}

// Nothing can use this input any more, not even a retry.
void drop_input(Tx& tx, JobRow& row) {
  if (!row.input) return;
  count_bytes(tx, row, -blob_bytes(tx.db, row.input));
  drop_ref(tx.db, row.input);
  tx.db.prepare("UPDATE jobs SET input = NULL WHERE id = ?1").bind(row.id).run();
  row.input.reset();
}

}  // namespace

void JobTransitions::end(JobRow& row, const JobTransitionEnd& end) {
  (void)settle_attempt(tx_, row, end.used, true);  // refuses only another attempt
  auto s = tx_.db.prepare(R"(
      UPDATE jobs SET status = ?4, completed_at = ?5, error_code = ?6, error_message = ?7,
          result = ?8, bytes = bytes + ?12, token = CASE WHEN ?9 = 1 THEN token END, worker = NULL,
          lease_boot = 0, lease_until = 0, run_at = 0, schedule = 0, published_at = 0, crashes = ?10,
          losses = ?11, jumped_ms = ?13, version = version + CASE WHEN parent_id IS NULL THEN 1 ELSE 0 END
      WHERE id = ?1 AND status = ?2 AND attempt = ?3 AND status < {first_terminal})"_sql);
  s.bind(row.id, row.status, row.attempt, end.status, base::millis(tx_.now), code_of(end), message_of(end),
         end.result, end.by_owner, row.crashes, row.losses, end.result_bytes, tx_.jumped.count())
      .run();
  expect_one_change(s, "end");
  add_usage(tx_, row, {.open_jobs = -1, .stored_bytes = end.result_bytes});
  window_slots_.unpublish(row);
  const KindRules rules = kind_rules(row.kind);
  if (rules.keeps_secrets) wipe_secret(tx_.db, row.id);
  if (rules.drops_bad_input && end.error && is_fault_of_recording(end.error->code)) drop_input(tx_, row);
  row.status = end.status;
  row.schedule = Schedule::kNone;
  row.jumped_ms = tx_.jumped.count();
  row.completed_at = base::millis(tx_.now);
  row.result = end.result;
  record_event(tx_, row, schemas::public_name(end.status), end.error ? error_data(*end.error) : "{}");
  if (row.parent) on_child_ended(*row.parent);
  if (counts(row)) record_job_end(tx_, options_, row);
  if (rules.runs_on_machine) mark_lane_machine_used(tx_, row.lane_key);
  if (rules.internal) on_act_ended(tx_, options_, row, end);
}

void JobTransitions::request_cancel(const JobRow& row) {
  tx_.db.prepare("UPDATE jobs SET cancel_requested = 1 WHERE id = ?1 AND status = {running}"_sql)
      .bind(row.id)
      .run();
  tx_.commit.cancel_requests.push_back(row.job());
}

void JobTransitions::requeue(JobRow& row, const Requeue& requeue) {
  if (const base::Status again = settle_attempt(tx_, row, requeue.used, false); !again)
    return end(row, {.status = JobStatus::kFailed, .error = job_error(again.error())});
  const std::int64_t run_at =
      requeue.delay <= requeue.delay.zero() ? 0 : base::millis(tx_.steady() + requeue.delay);
  const std::int64_t published_at = run_at == 0 ? window_slots_.take(row) : 0;
  auto s = tx_.db.prepare(R"(
      UPDATE jobs SET status = {queued}, run_at = ?4, epoch = epoch + 1, published_at = ?5,
          spared = spared + ?6, crashes = crashes + ?7, losses = losses + ?8, token = NULL,
          worker = NULL, lease_boot = 0, lease_until = 0, version = version + CASE WHEN parent_id IS NULL THEN 1 ELSE 0 END
      WHERE id = ?1 AND status = {running} AND attempt = ?2 AND token = ?3 AND cancel_requested = 0
          AND rerun = 0)"_sql);
  s.bind(row.id, row.attempt, row.token, run_at, published_at, requeue.free_attempts, requeue.crashes,
         requeue.losses)
      .run();
  expect_one_change(s, "requeue");
  row.status = JobStatus::kQueued;
  row.run_at = run_at;
  row.published_at = published_at;
  ++row.epoch;
  record_event(tx_, row, requeue.event, requeue.event_data);
  if (run_at == 0) publish(row);
}

void JobTransitions::handle_lost_worker(JobRow& row, int losses_max) {
  if (row.cancel_requested) return end(row, {.status = JobStatus::kCancelled});
  const bool last = row.losses + 1 >= losses_max;
  if (row.rerun == schemas::Rerun::kAtMostOnce || last) {
    ++row.losses;
    return end(row, {.status = JobStatus::kFailed, .error = worker_lost()});
  }
  requeue(row, {.losses = 1, .event_data = R"({"reason":"worker_lost"})"});
}

void JobTransitions::release(JobRow& row) {
  if (row.is_scheduled()) return release_scheduled(row);
  const std::int64_t published_at = window_slots_.take(row);
  auto s = tx_.db.prepare(R"(
      UPDATE jobs SET run_at = 0, published_at = ?3
      WHERE id = ?1 AND status = {queued} AND run_at > 0 AND run_at <= ?2)"_sql);
  s.bind(row.id, base::millis(tx_.steady()), published_at).run();
  expect_one_change(s, "release");
  row.run_at = 0;
  row.published_at = published_at;
  publish(row);
}

// The deadline counts from here, however late it is; from now on a jump of the clock moves it.
void JobTransitions::release_scheduled(JobRow& row) {
  const auto machine =
      kind_rules(row.kind).runs_on_machine ? schemas::machine_id_from(row.lane_key) : std::nullopt;
  base::Result<MachineUse> use = MachineUse{.is_awake = true, .use_recorded = true};
  if (machine) use = check_machine(tx_, row.tenant, *machine);
  if (!use) {
    const auto gone = machine_unavailable({base::Code::kMachineNotRoutable, "it was destroyed"});
    return end(row, {.status = JobStatus::kFailed, .error = gone});
  }
  if (const base::Status reserved = reserve_at_start(tx_, row); !reserved)
    return end(row, {.status = JobStatus::kFailed, .error = job_error(reserved.error())});
  row.deadline = base::millis(tx_.now) + row.deadline - row.run_at;
  row.run_at = use->is_awake ? 0 : kWaitsForMachine;
  row.published_at = use->is_awake ? window_slots_.take(row) : 0;
  row.jumped_ms = tx_.jumped.count();
  row.schedule = Schedule::kNone;
  auto s = tx_.db.prepare(R"(
      UPDATE jobs SET run_at = ?2, schedule = {not_scheduled}, published_at = ?3, deadline = ?4,
          jumped_ms = ?5, version = version + 1
      WHERE id = ?1 AND status = {queued} AND schedule <> {not_scheduled})"_sql);
  s.bind(row.id, row.run_at, row.published_at, row.deadline, row.jumped_ms).run();
  expect_one_change(s, "release at run_at");
  record_event(tx_, row, schemas::public_status(row.status, is_waking(row)),
               use->is_awake ? R"({"reason":"run_at"})" : "{}");
  if (machine) use_machine(tx_, options_, {row.tenant, *machine}, *use);
  if (use->is_awake) publish(row);
}

void JobTransitions::release_from_machine(JobRow& row) {
  const std::int64_t published_at = window_slots_.take(row);
  auto s = tx_.db.prepare(R"(
      UPDATE jobs SET run_at = 0, published_at = ?2, version = version + 1
      WHERE id = ?1 AND status = {queued} AND run_at = {waits_for_machine} AND parent_id IS NULL)"_sql);
  s.bind(row.id, published_at).run();
  expect_one_change(s, "awaken");
  row.run_at = 0;
  row.published_at = published_at;
  record_event(tx_, row, "queued", R"({"reason":"machine_awake"})");
  publish(row);
}

void JobTransitions::enqueue(JobRow row, std::string_view traceparent) {
  const bool ready = row.run_at == 0;
  row.published_at = ready ? window_slots_.take(row) : 0;
  if (!ready) record_waiting_event(tx_, row);
  if (!row.parent) publish_change(tx_, row);
  add_usage(tx_, row, {.open_jobs = 1, .stored_jobs = 1, .stored_bytes = row.bytes});
  if (ready) window_slots_.publish(row, std::string(traceparent));
  record_id_clock_skew(tx_.db, row);
  insert_job(tx_.db, std::move(row));
}

void JobTransitions::publish(const JobRow& row) {
  window_slots_.publish(row, traceparent_of(tx_.db, row.spec));
}

bool count_pages(JobTransitions& transitions, JobRow& root, int pages) {
  if (!kind_rules(root.kind).counts_pages || root.progress_total > 0) return true;
  Tx& tx = transitions.tx();
  const Owner owner{root.tenant, root.key_id};
  if (const auto refused = tx.quotas.pages_refusal(tx.db, owner, pages)) {
    transitions.end(root, {.status = JobStatus::kFailed, .error = job_error(*refused)});
    return false;
  }
  tx.quotas.add_use(tx.db, owner, utc_day(tx.now), {.pages = pages});
  return true;
}

schemas::JobError job_error(const base::Error& error) { return {error.code, error.message, error.param}; }

schemas::JobError worker_lost() {
  return {base::Code::kWorkerLost, "the worker was lost while it ran the job, which may have run in part"};
}

// The only place where children_left is decremented (rule 5). The last child releases a waiting parent. For a
// parent that has ended meanwhile, it only counts.
void JobTransitions::on_child_ended(const base::Uuid& parent) {
  auto lower = tx_.db.prepare(R"(
          UPDATE jobs SET children_left = children_left - 1
          WHERE id = ?1 AND children_left > 0)"_sql);
  lower.bind(parent).run();
  expect_one_change(lower, "count a child");
  auto row = find_job(tx_.db, parent);
  if (row->status != schemas::JobStatus::kWaiting || row->children_left > 0) return;

  const std::int64_t published_at = window_slots_.take(*row);
  auto s = tx_.db.prepare(R"(
      UPDATE jobs SET status = {queued}, run_at = 0, epoch = epoch + 1, published_at = ?2,
          version = version + 1
      WHERE id = ?1 AND status = {waiting} AND children_left = 0)"_sql);
  s.bind(parent, published_at).run();
  expect_one_change(s, "release a parent");
  row->status = schemas::JobStatus::kQueued;
  row->run_at = 0;
  row->published_at = published_at;
  ++row->epoch;
  record_event(tx_, *row, "queued", R"({"reason":"children_done"})");
  publish(*row);
}

namespace {

void delete_row(Tx& tx, const JobRow& row) {
  drop_spec(tx.db, row.spec);
  drop_result(tx.db, row.result);
  tx.db.prepare("DELETE FROM jobs WHERE id = ?1 AND status >= {first_terminal}"_sql).bind(row.id).run();
}

// Deletes at most `budget` events; returns how many.
int drop_output(Tx& tx, const JobRow& row, int budget) {
  if (!kind_rules(row.kind).events_carry_output) return 0;
  auto s = tx.db.prepare(R"(
      DELETE FROM job_events
      WHERE job = ?1
          AND version IN (SELECT version FROM job_events WHERE job = ?1 ORDER BY version LIMIT ?2))"_sql);
  s.bind(row.id, budget).run();
  return s.changes();
}

void drop_artifacts(Tx& tx, const JobRow& row) {
  if (!kind_rules(row.kind).has_artifacts) return;
  auto s = tx.db.prepare("DELETE FROM artifacts WHERE job = ?1 RETURNING blob");
  s.bind(row.id);
  while (s.step()) drop_ref(tx.db, s.optional_integer(0));
}

}  // namespace

int erase_job(Tx& tx, const JobRow& row, int budget) {
  std::vector<base::Uuid> children;
  if (row.children > 0) {
    auto s = tx.db.prepare("SELECT id FROM jobs WHERE parent_id = ?1 LIMIT ?2");
    s.bind(row.id, budget);
    children = ids(s);
  }
  int deleted = for_each_job(tx.db, children, [&](const JobRow& child) { delete_row(tx, child); });
  if (deleted < budget) deleted += drop_output(tx, row, budget - deleted);
  if (deleted >= budget) return deleted;
  drop_parts(tx.db, row.id);
  drop_artifacts(tx, row);
  drop_ref(tx.db, row.input);
  tx.db.prepare("DELETE FROM job_events WHERE job = ?1").bind(row.id).run();
  release_key(tx, row);
  add_usage(tx, row, {.stored_jobs = -1, .stored_bytes = -row.bytes});
  delete_row(tx, row);
  return deleted + 1;
}

}  // namespace millrace::storage

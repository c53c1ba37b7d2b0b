#include "storage/job_moves.h"

#include <string>

#include "storage/blob_rows.h"
#include "storage/ids_ahead.h"
#include "storage/job_events.h"
#include "storage/kind_rules.h"
#include "storage/machine_table.h"
#include "storage/payload_rows.h"
#include "storage/secret_rows.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;

constexpr std::size_t kErrorMessageMax = 1024;  // bytes; keeps the row small

std::optional<std::string_view> code_of(const End& end) {
  if (!end.error) return std::nullopt;
  return base::name(end.error->code);
}
std::optional<std::string_view> message_of(const End& end) {
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
void drop_input(Db& db, JobRow& row) {
  drop_ref(db, row.input);
  db.prepare("UPDATE jobs SET input = NULL WHERE id = ?1").bind(row.id).run();
  row.input.reset();
}

}  // namespace

void JobMoves::end(JobRow& row, const End& end) {
  auto s = tx_.db.prepare(
      "UPDATE jobs SET status = ?4, completed_at = ?5, error_code = ?6, error_message = ?7, result = ?8, "
      "token = CASE WHEN ?9 THEN token END, worker = NULL, lease_boot = 0, lease_until = 0, run_at = 0, "
      "published_at = 0, crashes = ?10, losses = ?11, version = version + (parent_id IS NULL) "
      "WHERE id = ?1 AND status = ?2 AND attempt = ?3 AND status < 3");
  s.bind(row.id, row.status, row.attempt, end.status, base::millis(tx_.now), code_of(end), message_of(end),
         end.result, end.by_owner, row.crashes, row.losses)
      .run();
  expect_one_change(s, "end");
  publisher_.forget(row);
  const KindRules rules = kind_rules(row.kind);
  if (rules.keeps_secrets) wipe_secret(tx_.db, row.id);
  if (rules.drops_bad_input && end.error && is_fault_of_recording(end.error->code)) drop_input(tx_.db, row);
  row.status = end.status;
  row.completed_at = base::millis(tx_.now);
  row.result = end.result;
  record(tx_, row, schemas::public_name(end.status), end.error ? error_data(*end.error) : "{}");
  if (row.parent) child_ended(*row.parent);
  if (rules.runs_on_machine) machine_used(tx_, row.lane_key);
  if (rules.internal) act_ended(tx_, options_, row, end);
}

void JobMoves::ask_to_stop(const JobRow& row) {
  tx_.db.prepare("UPDATE jobs SET cancel_requested = 1 WHERE id = ?1 AND status = 1").bind(row.id).run();
  tx_.commit.asked_to_stop.push_back(row.job());
}

void JobMoves::requeue(JobRow& row, const Requeue& requeue) {
  const std::int64_t run_at = requeue.run_at <= tx_.now ? 0 : base::millis(requeue.run_at);
  const std::int64_t published_at = run_at == 0 ? publisher_.take_room(row) : 0;
  auto s = tx_.db.prepare(
      "UPDATE jobs SET status = 0, run_at = ?4, epoch = epoch + 1, published_at = ?5, spared = spared + ?6, "
      "crashes = crashes + ?7, losses = losses + ?8, token = NULL, worker = NULL, lease_boot = 0, "
      "lease_until = 0, version = version + (parent_id IS NULL) WHERE id = ?1 AND status = 1 AND attempt = "
      "?2 "
      "AND token = ?3 AND cancel_requested = 0 AND rerun = 0");
  s.bind(row.id, row.attempt, row.token, run_at, published_at, requeue.spared, requeue.crashes,
         requeue.losses)
      .run();
  expect_one_change(s, "requeue");
  row.status = JobStatus::kQueued;
  row.run_at = run_at;
  row.published_at = published_at;
  ++row.epoch;
  record(tx_, row, requeue.event, requeue.event_data);
  if (run_at == 0) announce(row);
}

void JobMoves::lose(JobRow& row, int losses_max) {
  if (row.cancel_requested) return end(row, {.status = JobStatus::kCancelled});
  const bool last = row.losses + 1 >= losses_max;
  if (row.rerun == schemas::Rerun::kAtMostOnce || last) {
    ++row.losses;
    return end(row, {.status = JobStatus::kFailed, .error = worker_lost()});
  }
  requeue(row, {.losses = 1, .event_data = R"({"reason":"worker_lost"})"});
}

void JobMoves::release(JobRow& row) {
  const std::int64_t published_at = publisher_.take_room(row);
  auto s = tx_.db.prepare(
      "UPDATE jobs SET run_at = 0, published_at = ?3 WHERE id = ?1 AND status = 0 AND run_at > 0 AND run_at "
      "<= ?2");
  s.bind(row.id, base::millis(tx_.now), published_at).run();
  expect_one_change(s, "release");
  row.run_at = 0;
  row.published_at = published_at;
  announce(row);
}

void JobMoves::awaken(JobRow& row) {
  const std::int64_t published_at = publisher_.take_room(row);
  auto s = tx_.db.prepare(
      "UPDATE jobs SET run_at = 0, published_at = ?2, version = version + 1 WHERE id = ?1 AND status = 0 "
      "AND run_at = 9223372036854775807 AND parent_id IS NULL");
  s.bind(row.id, published_at).run();
  expect_one_change(s, "awaken");
  row.run_at = 0;
  row.published_at = published_at;
  record(tx_, row, "queued", R"({"reason":"machine_awake"})");
  announce(row);
}

void JobMoves::enqueue(JobRow row, std::string_view traceparent) {
  const bool ready = row.run_at == 0;
  row.published_at = ready ? publisher_.take_room(row) : 0;
  if (!ready) record_waking(tx_, row);
  if (!row.parent) tell(tx_, row);
  if (ready) publisher_.announce(row, std::string(traceparent));
  note_ahead(tx_.db, row);
  insert_job(tx_.db, std::move(row));
}

void JobMoves::announce(const JobRow& row) { publisher_.announce(row, traceparent_of(tx_.db, row.spec)); }

schemas::JobError worker_lost() {
  return {base::Code::kWorkerLost, "the worker was lost while it ran the job, which may have run in part"};
}

}  // namespace millrace::storage

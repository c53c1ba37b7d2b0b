#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include "schemas/machines/artifact.h"
#include "schemas/machines/execution.h"
#include "storage/blobs/blob_rows.h"
#include "storage/jobs/job_outcomes.h"
#include "storage/jobs/job_transitions.h"
#include "storage/jobs/kind_rules.h"
#include "storage/jobs/payload_rows.h"
#include "storage/sql.h"
#include "storage/tenants/reservations.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kProgressRowBytes = 256;

// Stores the root's progress and raises its version with one event.
void write_progress(Tx& tx, JobRow& root, std::string_view type, const std::string& data) {
  auto s = tx.db.prepare(R"(
      UPDATE jobs SET progress_done = ?2, progress_total = ?3, version = version + 1
      WHERE id = ?1 AND status < {first_terminal} AND parent_id IS NULL)"_sql);
  s.bind(root.id, root.progress_done, root.progress_total).run();
  expect_one_change(s, "progress");
  record_event(tx, root, type, data);
}

void add_engine_time(Db& db, const JobRow& root, std::chrono::milliseconds time) {
  if (time.count() <= 0) return;
  db.prepare("UPDATE jobs SET engine_ms = engine_ms + ?2 WHERE id = ?1").bind(root.id, time.count()).run();
}

ReportResult parts_in(Tx& tx, const Lease& lease, const std::vector<JobOutcomes::Part>& parts,
                      std::chrono::milliseconds engine_time, BlobClaim& blob_claim) {
  auto lease_check = check_lease(tx.db, lease);
  if (!lease_check.row) return lease_check.refusal;
  auto root = find_open_root(tx.db, *lease_check.row);
  if (!root) return ReportResult::kLeaseLost;
  add_engine_time(tx.db, *root, engine_time);
  for (const auto& part : parts) {
    const WrittenPart written = write_part(tx.db, blob_claim, *root, part);
    if (written.how == PartWrite::kKept) continue;
    if (written.how == PartWrite::kNew) ++root->progress_done;
    count_bytes(tx, *root, written.bytes_added);
    write_progress(tx, *root, kind_rules(root->kind).part_event,
                   "{\"index\":" + std::to_string(part.index) + "}");
  }
  return ReportResult::kApplied;
}

ReportResult total_in(Tx& tx, const Store::Options& options, const Lease& lease, int total) {
  auto lease_check = check_lease(tx.db, lease);
  if (!lease_check.row) return lease_check.refusal;
  auto root = find_open_root(tx.db, *lease_check.row);
  if (!root) return ReportResult::kLeaseLost;
  if (root->progress_total == total) return ReportResult::kApplied;
  JobTransitions transitions(tx, options);
  if (!count_pages(transitions, *root, total)) return ReportResult::kLeaseLost;
  root->progress_total = total;
  write_progress(
      tx, *root, "progress",
      "{\"done\":" + std::to_string(root->progress_done) + ",\"total\":" + std::to_string(total) + "}");
  return ReportResult::kApplied;
}

// False: the owners' stored_bytes does not allow the fetched document, and the job has failed with
// quota_exceeded.
bool fits_quota(Tx& tx, const Store::Options& options, JobRow& row, std::int64_t bytes) {
  const auto refused = tx.quotas.refusal(tx.db, {row.tenant, row.key_id}, {.stored_bytes = bytes});
  if (!refused) return true;
  JobTransitions(tx, options).end(row, {.status = schemas::JobStatus::kFailed, .error = job_error(*refused)});
  return false;
}

ReportResult input_in(Tx& tx, const Store::Options& options, const Lease& lease, const Staged& input,
                      BlobClaim& blob_claim) {
  auto lease_check = check_lease(tx.db, lease);
  if (!lease_check.row) return lease_check.refusal;
  if (lease_check.row->input) return ReportResult::kApplied;
  if (!fits_quota(tx, options, *lease_check.row, input->ref().bytes)) return ReportResult::kLeaseLost;
  const std::int64_t blob = blob_claim.take(tx.db, lease_check.row->tenant, input);
  auto s = tx.db.prepare(R"(
      UPDATE jobs SET input = ?4
      WHERE id = ?1 AND status = {running} AND attempt = ?2 AND token = ?3 AND input IS NULL)"_sql);
  s.bind(lease_check.row->id, lease.attempt, lease.token, blob).run();
  expect_one_change(s, "attach an input");
  count_bytes(tx, *lease_check.row, input->ref().bytes);
  return ReportResult::kApplied;
}

}  // namespace

void JobOutcomes::parts(Lease lease, std::vector<Part> parts, std::chrono::milliseconds engine_time,
                        Callback<ReportResult> done) {
  std::size_t bytes = 0;
  for (const Part& part : parts) {
    if (part.payload.bytes.size() > kInlineMax) {
      return done(base::error(base::Code::kInternal, "a part above 32 KiB must be passed as a blob"));
    }
    bytes += part.payload.bytes.size() + kProgressRowBytes;
  }
  auto blob_claim = std::make_shared<BlobClaim>();
  submit_write<ReportResult>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [lease, parts = std::move(parts), engine_time, blob_claim](Tx& tx) -> base::Result<ReportResult> {
        blob_claim->begin();
        return parts_in(tx, lease, parts, engine_time, *blob_claim);
      },
      with_claim_commit<ReportResult>(blob_claim, std::move(done)));
}

void JobOutcomes::progress_total(Lease lease, int total, Callback<ReportResult> done) {
  submit_write<ReportResult>(
      store_.writer(), Writer::Priority::kUrgent, kProgressRowBytes,
      [lease, total, &options = store_.options()](Tx& tx) -> base::Result<ReportResult> {
        return total_in(tx, options, lease, total);
      },
      std::move(done));
}

void JobOutcomes::attach_input(Lease lease, Staged input, Callback<ReportResult> done) {
  auto blob_claim = std::make_shared<BlobClaim>();
  submit_write<ReportResult>(
      store_.writer(), Writer::Priority::kUrgent, kProgressRowBytes,
      [lease, input = std::move(input), blob_claim,
       &options = store_.options()](Tx& tx) -> base::Result<ReportResult> {
        blob_claim->begin();
        return input_in(tx, options, lease, input, *blob_claim);
      },
      with_claim_commit<ReportResult>(blob_claim, std::move(done)));
}

namespace {

constexpr std::size_t kEventRowBytes = 128;  // of an event row without its data

void append_events(Tx& tx, JobRow& row, const Lease& lease, const std::vector<JobOutcomes::Event>& events) {
  std::int64_t bytes = 0;
  for (const JobOutcomes::Event& event : events) bytes += static_cast<std::int64_t>(event.data.size());
  auto s = tx.db.prepare(R"(
      UPDATE jobs SET version = version + ?4, bytes = bytes + ?5
      WHERE id = ?1 AND status = {running} AND attempt = ?2 AND token = ?3 AND parent_id IS NULL)"_sql);
  s.bind(row.id, lease.attempt, lease.token, static_cast<std::int64_t>(events.size()), bytes).run();
  expect_one_change(s, "tell events");
  add_usage(tx, row, {.stored_bytes = bytes});
  for (const JobOutcomes::Event& event : events) record_event(tx, row, event.type, event.data);
}

base::Result<ReportResult> events_in(Tx& tx, const Lease& lease,
                                     const std::vector<JobOutcomes::Event>& events) {
  auto lease_check = check_lease(tx.db, lease);
  if (!lease_check.row) return lease_check.refusal;
  JobRow& row = *lease_check.row;
  if (row.parent) return base::error(base::Code::kInvalidState, "children have no history of their own");
  append_events(tx, row, lease, events);
  return ReportResult::kApplied;
}

base::Result<ReportResult> call_in(Tx& tx, const Store::Options& options, const Lease& lease,
                                   const JobOutcomes::ModelCall& call) {
  auto lease_check = check_lease(tx.db, lease);
  if (!lease_check.row) return lease_check.refusal;
  JobRow& row = *lease_check.row;
  if (!find_open_root(tx.db, row)) return ReportResult::kLeaseLost;
  if (const base::Status allowed = reserve_call(tx, row, call.attempt_max); !allowed) {
    JobTransitions(tx, options)
        .end(row, {.status = schemas::JobStatus::kFailed,
                   .error = job_error(allowed.error()),
                   .used = call.used_before});
    return ReportResult::kLeaseLost;
  }
  if (!row.parent && !call.event_data.empty()) append_events(tx, row, lease, {{"sent", call.event_data}});
  return ReportResult::kApplied;
}

using Files = std::vector<JobOutcomes::NewArtifact>;

// The files whose names the job does not have yet. kInternal: with them the job would exceed the limit.
base::Result<std::vector<const JobOutcomes::NewArtifact*>> new_names(Db& db, const JobRow& row,
                                                                     const Files& files) {
  std::unordered_set<std::string> names;
  auto s = db.prepare("SELECT name FROM artifacts WHERE job = ?1");
  s.bind(row.id);
  while (s.step()) names.insert(s.text(0));
  std::vector<const JobOutcomes::NewArtifact*> new_files;
  for (const auto& file : files) {
    if (names.insert(file.name).second) new_files.push_back(&file);
  }
  if (names.size() > static_cast<std::size_t>(schemas::kArtifactsMax)) {
    return base::error(base::Code::kInternal, "an execution has at most 100 artifacts (kArtifactsMax)");
  }
  return new_files;
}
static_assert(schemas::kArtifactsMax == 100, "the text above names it");

base::Result<ReportResult> artifacts_in(Tx& tx, const Lease& lease, const base::Uuid& machine,
                                        const Files& files, BlobClaim& blob_claim) {
  auto lease_check = check_lease(tx.db, lease);
  if (!lease_check.row) return lease_check.refusal;
  const JobRow& row = *lease_check.row;
  const auto new_files = new_names(tx.db, row, files);
  if (!new_files) return new_files.error();
  const Owner owner{row.tenant, row.key_id};
  int left_out = 0;
  for (const auto* file : *new_files) {
    if (file->content->ref().bytes > tx.quotas.bytes_left(tx.db, owner)) {
      ++left_out;
      continue;
    }
    const std::int64_t blob = blob_claim.take(tx.db, row.tenant, file->content);
    tx.db
        .prepare(R"(
            INSERT INTO artifacts (id, tenant, machine, job, name, mime_type, blob, created_at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8))"_sql)
        .bind(file->id, row.tenant, machine, row.id, file->name, file->mime_type, blob, base::millis(tx.now))
        .run();
    count_bytes(tx, row, file->content->ref().bytes);
  }
  if (left_out == 0) return ReportResult::kApplied;
  const std::string note = schemas::files_not_kept(left_out, schemas::kStoredBytesReached);
  return events_in(tx, lease, {{std::string(schemas::kWarning), schemas::warning_event_data(note)}});
}

}  // namespace

void JobOutcomes::artifacts(Lease lease, base::Uuid machine, std::vector<NewArtifact> files,
                            Callback<ReportResult> done) {
  const std::size_t bytes = files.size() * (kEventRowBytes + schemas::kArtifactNameMax);
  auto blob_claim = std::make_shared<BlobClaim>();
  submit_write<ReportResult>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [lease, machine, files = std::move(files), blob_claim](Tx& tx) {
        blob_claim->begin();
        return artifacts_in(tx, lease, machine, files, *blob_claim);
      },
      with_claim_commit<ReportResult>(blob_claim, std::move(done)));
}

void JobOutcomes::call(Lease lease, ModelCall call, Callback<ReportResult> done) {
  const std::size_t bytes = kEventRowBytes + call.event_data.size();
  submit_write<ReportResult>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [lease, call = std::move(call), &options = store_.options()](Tx& tx) {
        return call_in(tx, options, lease, call);
      },
      std::move(done));
}

void JobOutcomes::events(Lease lease, std::vector<Event> events, Callback<ReportResult> done) {
  std::size_t bytes = 0;
  for (const Event& event : events) {
    if (event.data.size() > kEventMax) {
      return done(base::error(base::Code::kInternal, "an event above 256 KiB must be split into several"));
    }
    bytes += event.type.size() + event.data.size() + kEventRowBytes;
  }
  submit_write<ReportResult>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [lease, events = std::move(events)](Tx& tx) { return events_in(tx, lease, events); }, std::move(done));
}

}  // namespace millrace::storage

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include "schemas/artifact.h"
#include "storage/blob_rows.h"
#include "storage/job_events.h"
#include "storage/job_outcomes.h"
#include "storage/lease_guard.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kEventRowBytes = 128;  // of an event row without its data

base::Result<Applied> events_in(Tx& tx, const Lease& lease, const std::vector<JobOutcomes::Event>& events) {
  auto held = hold(tx.db, lease);
  if (!held.row) return held.refusal;
  JobRow& row = *held.row;
  if (row.parent) return base::error(base::Code::kInvalidState, "children have no history of their own");
  auto s = tx.db.prepare(
      "UPDATE jobs SET version = version + ?4 WHERE id = ?1 AND status = 1 AND attempt = ?2 AND token = ?3 "
      "AND parent_id IS NULL");
  s.bind(row.id, lease.attempt, lease.token, static_cast<std::int64_t>(events.size())).run();
  expect_one_change(s, "tell events");
  for (const JobOutcomes::Event& event : events) record(tx, row, event.type, event.data);
  return Applied::kYes;
}

using Files = std::vector<JobOutcomes::NewArtifact>;

// The files whose names the job does not have yet. kInternal: with them the job would exceed the limit.
base::Result<std::vector<const JobOutcomes::NewArtifact*>> new_names(Db& db, const JobRow& row,
                                                                     const Files& files) {
  std::unordered_set<std::string> names;
  auto s = db.prepare("SELECT name FROM artifacts WHERE job = ?1");
  s.bind(row.id);
  while (s.step()) names.insert(s.text(0));
  std::vector<const JobOutcomes::NewArtifact*> fresh;
  for (const auto& file : files) {
    if (names.insert(file.name).second) fresh.push_back(&file);
  }
  if (names.size() > static_cast<std::size_t>(schemas::kArtifactsMax)) {
    return base::error(base::Code::kInternal, "an execution has at most 100 artifacts (kArtifactsMax)");
  }
  return fresh;
}
static_assert(schemas::kArtifactsMax == 100, "the text above names it");

base::Result<Applied> artifacts_in(Tx& tx, const Lease& lease, const base::Uuid& machine, const Files& files,
                                   Adoption& adoption) {
  auto held = hold(tx.db, lease);
  if (!held.row) return held.refusal;
  const JobRow& row = *held.row;
  const auto fresh = new_names(tx.db, row, files);
  if (!fresh) return fresh.error();
  for (const auto* file : *fresh) {
    const std::int64_t blob = adoption.take(tx.db, row.tenant, file->content);
    tx.db
        .prepare(
            "INSERT INTO artifacts (id, tenant, machine, job, name, mime_type, blob, created_at) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")
        .bind(file->id, row.tenant, machine, row.id, file->name, file->mime_type, blob, base::millis(tx.now))
        .run();
  }
  return Applied::kYes;
}

}  // namespace

void JobOutcomes::artifacts(Lease lease, base::Uuid machine, std::vector<NewArtifact> files,
                            Done<Applied> done) {
  const std::size_t bytes = files.size() * (kEventRowBytes + schemas::kArtifactNameMax);
  auto adoption = std::make_shared<Adoption>();
  submit_move<Applied>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [lease, machine, files = std::move(files), adoption](Tx& tx) {
        adoption->begin();
        return artifacts_in(tx, lease, machine, files, *adoption);
      },
      adopting<Applied>(adoption, std::move(done)));
}

void JobOutcomes::events(Lease lease, std::vector<Event> events, Done<Applied> done) {
  std::size_t bytes = 0;
  for (const Event& event : events) {
    if (event.data.size() > kEventMax) {
      return done(base::error(base::Code::kInternal, "an event above 256 KiB must be told as several"));
    }
    bytes += event.type.size() + event.data.size() + kEventRowBytes;
  }
  submit_move<Applied>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [lease, events = std::move(events)](Tx& tx) { return events_in(tx, lease, events); }, std::move(done));
}

}  // namespace millrace::storage

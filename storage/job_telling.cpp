#include <string>
#include <utility>

#include "storage/job_events.h"
#include "storage/job_outcomes.h"
#include "storage/lease_guard.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kRowBytes = 128;  // of an event around its data

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

}  // namespace

void JobOutcomes::events(Lease lease, std::vector<Event> events, Done<Applied> done) {
  std::size_t bytes = 0;
  for (const Event& event : events) {
    if (event.data.size() > kEventMax) {
      return done(base::error(base::Code::kInternal, "an event above 256 KiB must be told as several"));
    }
    bytes += event.type.size() + event.data.size() + kRowBytes;
  }
  submit_move<Applied>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [lease, events = std::move(events)](Tx& tx) { return events_in(tx, lease, events); }, std::move(done));
}

}  // namespace millrace::storage

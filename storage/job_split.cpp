#include <algorithm>
#include <string>
#include <utility>

#include "storage/job_events.h"
#include "storage/job_moves.h"
#include "storage/job_outcomes.h"
#include "storage/lease_guard.h"
#include "storage/payload_rows.h"

namespace millrace::storage {
namespace {

using schemas::JobStatus;

constexpr std::size_t kChildBytes = 512;

void wait_for_children(Tx& tx, JobRow& row, int children, int progress_total) {
  auto s = tx.db.prepare(
      "UPDATE jobs SET status = 2, children = ?4, children_left = ?4, progress_total = ?5, spared = spared + "
      "1, "
      "token = NULL, worker = NULL, lease_boot = 0, lease_until = 0, version = version + 1 WHERE id = ?1 "
      "AND status = 1 AND attempt = ?2 AND token = ?3 AND cancel_requested = 0 AND children = 0");
  s.bind(row.id, row.attempt, row.token, children, progress_total).run();
  expect_one_change(s, "split");
  row.status = JobStatus::kWaiting;
  record(tx, row, "waiting", "{\"children\":" + std::to_string(children) + "}");
}

JobRow child_of(const Tx& tx, const JobRow& parent, const ChildSpec& spec, int index) {
  JobRow child;
  child.id = spec.id.uuid;
  child.kind = spec.id.kind;
  child.tenant = parent.tenant;
  child.priority = parent.priority;
  child.rerun = parent.rerun;
  child.created_at = base::millis(tx.now);
  child.deadline = parent.deadline;
  child.model = parent.model;
  child.lane_key = parent.lane_key;
  child.parent = parent.id;
  child.child_index = index;
  return child;
}

base::Result<Applied> split_in(Tx& tx, const Store::Options& options, const Lease& lease,
                               const std::vector<ChildSpec>& children, int progress_total) {
  auto held = hold(tx.db, lease);
  if (!held.row) return held.refusal;
  JobRow& row = *held.row;
  JobMoves moves(tx, options);
  if (row.cancel_requested) {
    moves.end(row, {.status = JobStatus::kCancelled, .by_owner = true});
    return Applied::kCancelled;
  }
  if (row.parent || row.children > 0 || row.rerun == schemas::Rerun::kAtMostOnce) {
    return base::error(base::Code::kInvalidState,
                       "children, jobs that were split and at-most-once jobs do not split");
  }
  wait_for_children(tx, row, static_cast<int>(children.size()), progress_total);
  const std::string traceparent = traceparent_of(tx.db, row.spec);
  int index = 0;
  for (const ChildSpec& spec : children) {
    JobRow child = child_of(tx, row, spec, index++);
    child.spec = insert_job_spec(tx.db, {spec.spec, std::nullopt, traceparent});
    moves.enqueue(std::move(child), traceparent);
  }
  tx.db.write_pending();  // now, while `traceparent` is still alive
  return Applied::kYes;
}

}  // namespace

void JobOutcomes::split(Lease lease, std::vector<ChildSpec> children, int progress_total,
                        Done<Applied> done) {
  const bool too_large = std::any_of(children.begin(), children.end(),
                                     [](const ChildSpec& c) { return c.spec.size() > kInlineMax; });
  if (children.empty() || too_large) {
    return done(
        base::error(base::Code::kInternal, "a split needs children, each with a spec of at most 32 KiB"));
  }
  std::size_t bytes = 0;
  for (const ChildSpec& child : children) bytes += child.spec.size() + kChildBytes;
  const Store::Options& options = store_.options();
  submit_move<Applied>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [lease, children = std::move(children), progress_total, &options](Tx& tx) {
        return split_in(tx, options, lease, children, progress_total);
      },
      std::move(done));
}

}  // namespace millrace::storage

#include <memory>
#include <string>
#include <utility>

#include "storage/job_events.h"
#include "storage/job_outcomes.h"
#include "storage/kind_rules.h"
#include "storage/lease_guard.h"
#include "storage/payload_rows.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kProgressRowBytes = 256;

// Stores the root's progress and raises its version with one event.
void show_progress(Tx& tx, JobRow& root, std::string_view type, const std::string& data) {
  auto s = tx.db.prepare(
      "UPDATE jobs SET progress_done = ?2, progress_total = ?3, version = version + 1 "
      "WHERE id = ?1 AND status < 3 AND parent_id IS NULL");
  s.bind(root.id, root.progress_done, root.progress_total).run();
  expect_one_change(s, "progress");
  record(tx, root, type, data);
}

Applied parts_in(Tx& tx, const Lease& lease, const std::vector<JobOutcomes::Part>& parts,
                 Adoption& adoption) {
  auto held = hold(tx.db, lease);
  if (!held.row) return held.refusal;
  auto root = open_root(tx.db, *held.row);
  if (!root) return Applied::kLeaseLost;
  for (const auto& part : parts) {
    const PartWrite written = write_part(tx.db, adoption, *root, part);
    if (written == PartWrite::kKept) continue;
    if (written == PartWrite::kNew) ++root->progress_done;
    show_progress(tx, *root, kind_rules(root->kind).part_event,
                  "{\"index\":" + std::to_string(part.index) + "}");
  }
  return Applied::kYes;
}

Applied total_in(Tx& tx, const Lease& lease, int total) {
  auto held = hold(tx.db, lease);
  if (!held.row) return held.refusal;
  auto root = open_root(tx.db, *held.row);
  if (!root) return Applied::kLeaseLost;
  if (root->progress_total == total) return Applied::kYes;
  root->progress_total = total;
  show_progress(
      tx, *root, "progress",
      "{\"done\":" + std::to_string(root->progress_done) + ",\"total\":" + std::to_string(total) + "}");
  return Applied::kYes;
}

Applied input_in(Tx& tx, const Lease& lease, const Staged& input, Adoption& adoption) {
  auto held = hold(tx.db, lease);
  if (!held.row) return held.refusal;
  if (held.row->input) return Applied::kYes;
  const std::int64_t blob = adoption.take(tx.db, held.row->tenant, input);
  auto s = tx.db.prepare(
      "UPDATE jobs SET input = ?4 WHERE id = ?1 AND status = 1 AND attempt = ?2 AND token = ?3 AND input IS "
      "NULL");
  s.bind(held.row->id, lease.attempt, lease.token, blob).run();
  expect_one_change(s, "attach an input");
  return Applied::kYes;
}

}  // namespace

void JobOutcomes::parts(Lease lease, std::vector<Part> parts, Done<Applied> done) {
  std::size_t bytes = 0;
  for (const Part& part : parts) {
    if (part.payload.bytes.size() > kInlineMax) {
      return done(base::error(base::Code::kInternal, "a part above 32 KiB must travel as a blob"));
    }
    bytes += part.payload.bytes.size() + kProgressRowBytes;
  }
  auto adoption = std::make_shared<Adoption>();
  submit_move<Applied>(
      store_.writer(), Writer::Priority::kUrgent, bytes,
      [lease, parts = std::move(parts), adoption](Tx& tx) -> base::Result<Applied> {
        adoption->begin();
        return parts_in(tx, lease, parts, *adoption);
      },
      adopting<Applied>(adoption, std::move(done)));
}

void JobOutcomes::progress_total(Lease lease, int total, Done<Applied> done) {
  submit_move<Applied>(
      store_.writer(), Writer::Priority::kUrgent, kProgressRowBytes,
      [lease, total](Tx& tx) -> base::Result<Applied> { return total_in(tx, lease, total); },
      std::move(done));
}

void JobOutcomes::attach_input(Lease lease, Staged input, Done<Applied> done) {
  auto adoption = std::make_shared<Adoption>();
  submit_move<Applied>(
      store_.writer(), Writer::Priority::kUrgent, kProgressRowBytes,
      [lease, input = std::move(input), adoption](Tx& tx) -> base::Result<Applied> {
        adoption->begin();
        return input_in(tx, lease, input, *adoption);
      },
      adopting<Applied>(adoption, std::move(done)));
}

}  // namespace millrace::storage

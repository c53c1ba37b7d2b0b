#include "storage/lease_guard.h"

namespace millrace::storage {

using schemas::JobStatus;

Held hold(Db& db, const Lease& lease, std::optional<JobStatus> meant) {
  auto row = find_job(db, lease.job.uuid);
  if (!row || row->kind != lease.job.kind || row->attempt != lease.attempt || row->token != lease.token)
    return {};
  if (row->status == JobStatus::kRunning) return {std::move(row), Applied::kYes};
  if (!meant || !schemas::is_terminal(row->status)) return {};
  const bool cancel_won = row->status == JobStatus::kCancelled && meant != JobStatus::kCancelled;
  return {std::nullopt, cancel_won ? Applied::kCancelled : Applied::kRepeated};
}

std::optional<JobRow> open_root(Db& db, const JobRow& held) {
  if (!held.parent) return held;
  auto parent = find_job(db, *held.parent);
  if (!parent || schemas::is_terminal(parent->status)) return std::nullopt;
  return parent;
}

}  // namespace millrace::storage

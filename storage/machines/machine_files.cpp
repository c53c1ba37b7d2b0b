#include "storage/machines/machine_files.h"

#include <limits>
#include <utility>

#include "storage/admin/audit.h"
#include "storage/db/db.h"
#include "storage/jobs/job_rows.h"
#include "storage/jobs/job_transitions.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kFileRowBytes = 512;

base::Result<bool> drop_unstarted_in(Tx& tx, const Caller& by, const schemas::JobId& job) {
  const auto row = find_root(tx.db, by.tenant, job);
  if (!row) return no_such_job();
  if (!schemas::is_terminal(row->status))
    return base::error(base::Code::kInvalidState, "the execution has not ended");
  audit_execution(tx, by, "delete", job);
  tx.db.prepare("DELETE FROM idempotency WHERE key = ?1").bind(BlobView{row->idempotency}).run();
  erase_job(tx, *row, std::numeric_limits<int>::max());
  return true;
}

base::Result<bool> drop_when_ended_in(Tx& tx, const Caller& by, const schemas::JobId& job) {
  const auto row = find_root(tx.db, by.tenant, job);
  if (!row) return no_such_job();
  audit_execution(tx, by, "delete", job);
  tx.db.prepare("UPDATE jobs SET removed = 1 WHERE id = ?1").bind(row->id).run();
  return true;
}

}  // namespace

void MachineFiles::drop_unstarted(Caller by, schemas::JobId job, Callback<bool> done) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, kFileRowBytes,
      [by = std::move(by), job](Tx& tx) { return drop_unstarted_in(tx, by, job); }, std::move(done));
}

void MachineFiles::drop_when_ended(Caller by, schemas::JobId job, Callback<bool> done) {
  submit_write<bool>(
      store_.writer(), Writer::Priority::kInteractive, kFileRowBytes,
      [by = std::move(by), job](Tx& tx) { return drop_when_ended_in(tx, by, job); }, std::move(done));
}

}  // namespace millrace::storage

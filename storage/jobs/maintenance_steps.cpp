#include "storage/jobs/maintenance_steps.h"

namespace millrace::storage {

bool may_expire_leases(const Tx& tx, std::chrono::milliseconds lease) {
  return tx.boot - tx.clocks.regular_since >= lease && tx.boot - tx.clocks.agreed_since >= lease;
}

bool may_delete_rows(const Tx& tx) { return tx.boot - tx.clocks.agreed_since >= kRetentionGrace; }

bool may_expire_jobs(const Tx& tx) { return tx.boot - tx.clocks.agreed_since >= kDeadlineGrace; }

}  // namespace millrace::storage

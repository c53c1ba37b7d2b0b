#include "storage/upkeep_steps.h"

namespace millrace::storage {

bool may_end_leases(const Tx& tx, std::chrono::milliseconds lease) {
  return tx.boot - tx.clocks.regular_since >= lease && tx.boot - tx.clocks.agreed_since >= lease;
}

bool may_retire_rows(const Tx& tx) { return tx.boot - tx.clocks.agreed_since >= kRetentionWait; }

bool may_end_overdue(const Tx& tx) { return tx.boot - tx.clocks.agreed_since >= kDeadlineWait; }

}  // namespace millrace::storage

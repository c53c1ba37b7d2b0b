#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/crypto.h"
#include "platform/base/result.h"
#include "schemas/jobs/job.h"
#include "storage/jobs/idempotent_call.h"
#include "storage/store.h"
#include "storage/writer/writer.h"

// The audit log. Rows are only added, each with the hash of the previous row, in the transaction of the
// action that they record (docs/design/security.md §7). If a row is changed, deleted or inserted, the chain
// is broken from there on. Rows deleted at the end are detected by the sequence number of the next row. A
// rewrite of the whole chain and of that number can only be detected with a copy of a hash, so keep
// `export`s.
namespace millrace::storage {

struct AuditEntry {
  std::string tenant;
  std::string actor;        // id of the API key, or "gateway", "cli"
  std::string act;          // "ssh.issue", "ssh.sign_host", "machine.create", "key.create", …
  std::string target;       // id of the object of the action
  std::string data = "{}";  // a JSON object without secrets
};

struct AuditRow {
  std::int64_t seq = 0;
  base::WallTime at{};
  AuditEntry entry;
  base::Sha256Digest prev_hash{}, hash{};
};

class Audit {
 public:
  explicit Audit(Store& store) : store_(store) {}

  // For an action that changes nothing in the store. The caller performs it only after `done` reports
  // success. A write: never blocks; `done` runs on the completion thread after the commit.
  void append(AuditEntry entry, Callback<bool> done);

  // Rows after `seq`, in order. Blocks.
  base::Result<std::vector<AuditRow>> rows(std::int64_t after, int limit);
  struct Verification {
    std::int64_t rows = 0;                  // rows of the unbroken chain, from the first on
    std::optional<std::int64_t> broken_at;  // `seq` of the first row that is wrong or missing
    base::Sha256Digest last_hash{};         // the hash of the last of these rows
  };
  base::Result<Verification> verify();

 private:
  Store& store_;
};

// The hash of a row that follows `prev`: SHA-256 over prev, seq, at (milliseconds) and the entry's fields in
// order, each encoded as a netstring ("5:hello,"). Documented in docs/operations.md.
base::Sha256Digest audit_hash(const base::Sha256Digest& prev, const AuditRow& row);

// Inside storage.

// Adds a row in the transaction of the action.
void append_audit(Tx& tx, const AuditEntry& entry);

// Adds a row for an operation of `by`. Adds nothing without an actor.
void audit_operation(Tx& tx, const Caller& by, std::string_view act, std::string_view target);

// Adds "execution.<act>" for a job of kind exec. Adds nothing for other kinds or without an actor.
void audit_execution(Tx& tx, const Caller& by, std::string_view act, const schemas::JobId& job);

}  // namespace millrace::storage

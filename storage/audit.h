#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/crypto.h"
#include "platform/base/result.h"
#include "storage/store.h"
#include "storage/writer.h"

// The audit log: rows that are only ever added, each with the hash of the one before, in the transaction of
// the act that they tell of (security.md §7). Whoever changes, removes or inserts a row breaks the chain from
// there on. Rows that were cut off its end show by the number that the next one has, or will have; whoever
// rewrites the whole chain, and that number, is found out only by a copy of a hash, so keep `export`s.
namespace millrace::storage {

struct AuditEntry {
  std::string tenant;
  std::string actor;        // id of the API key; "gateway", "cli"
  std::string act;          // "ssh.issue", "ssh.sign_host", "machine.create", "key.create", …
  std::string target;       // id of what it was done to
  std::string data = "{}";  // a JSON object; no secret in it
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

  // For an act that changes nothing in the store: whoever does it does so once `done` says that it is told.
  // A move: never blocks, `done` on the announce thread after the commit.
  void append(AuditEntry entry, Done<bool> done);

  // After `seq`, in order. Blocks.
  base::Result<std::vector<AuditRow>> rows(std::int64_t after, int limit);
  struct Verdict {
    std::int64_t rows = 0;                  // that follow one from the other, from the first
    std::optional<std::int64_t> broken_at;  // `seq` of the first that does not, or is not there
    base::Sha256Digest last_hash{};         // of those rows
  };
  base::Result<Verdict> verify();

 private:
  Store& store_;
};

// The hash of a row that follows `prev`: SHA-256 over prev, then seq, at (milliseconds) and the entry's
// fields in their order, each as a netstring ("5:hello,"). Documented in docs/operations.md.
base::Sha256Digest audit_hash(const base::Sha256Digest& prev, const AuditRow& row);

}  // namespace millrace::storage

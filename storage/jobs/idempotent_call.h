#pragma once
#include <functional>
#include <optional>
#include <string>

#include "platform/base/crypto.h"
#include "schemas/jobs/job.h"
#include "schemas/machines/machine.h"

namespace millrace::storage {

// (tenant, method, path, key) identifies what a request created. `fingerprint` is a hash of the raw body
// (docs/design/delivery.md §8).
struct IdempotencyKey {
  std::string method, path, key;
  base::Sha256Digest fingerprint{};
};

// Types of calls that create no job: those under /v1/machines, and cancels.

// Who makes a request.
struct Caller {
  std::string tenant;
  std::string actor{};    // for the audit log: the id of the API key; empty: not audited
  bool only_own = false;  // may retry only jobs that this key has created
};

// Who calls, and with which Idempotency-Key. If the same tenant has used the key before for the same method
// and path, the call changes nothing and gets the stored first reply; with another body it fails with
// kIdempotencyReused.
struct IdempotentCall {
  std::string tenant;
  std::string actor;  // for the audit log: the id of the API key
  std::optional<IdempotencyKey> key;
  // A new id for the machine operation that the call may start.
  schemas::JobId act{schemas::Kind::kMachine, {}};
};

// The body of a reply, built in the call's transaction.
struct CallReply {
  std::string body;
  bool replayed = false;
};

// Builds the body. Must be pure; runs on the commit thread, at most 50 µs.
template <class T>
using ReplyBuilder = std::function<std::string(const T&)>;

}  // namespace millrace::storage

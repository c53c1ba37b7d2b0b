#pragma once
#include <functional>
#include <optional>
#include <string>

#include "schemas/job.h"
#include "schemas/machine.h"
#include "storage/idempotency_key.h"

// Types shared by calls under /v1/machines that create no job.
namespace millrace::storage {

// Who makes a request.
struct Caller {
  std::string tenant;
  std::string actor{};  // for the audit log: the id of the API key; empty: not audited
};

// Who calls, and with which Idempotency-Key. If the same tenant has used the key before for the same method
// and path, the call changes nothing and gets the stored first reply; with another body it fails with
// kIdempotencyReused.
struct MachineCall {
  std::string tenant;
  std::string actor;  // for the audit log: the id of the API key
  std::optional<IdempotencyKey> key;
  // A new id for the machine operation that the call may start.
  schemas::JobId act{schemas::Kind::kMachine, {}};
};

// The body of a reply, built in the call's transaction.
struct Answer {
  std::string body;
  bool replayed = false;
};

// Builds the body. Must be pure; runs on the commit thread, at most 50 µs.
template <class T>
using Compose = std::function<std::string(const T&)>;

}  // namespace millrace::storage

#pragma once
#include <functional>
#include <optional>
#include <string>

#include "schemas/job.h"
#include "schemas/machine.h"
#include "storage/idempotency_key.h"

// What calls under /v1/machines that make no job have in common.
namespace millrace::storage {

// Who asks for something.
struct Caller {
  std::string tenant;
  std::string actor{};  // for the audit log: the id of the API key; empty: nothing is audited
};

// Who calls, and with which Idempotency-Key. A call whose key was used before by the same tenant, method and
// path changes nothing and is given its stored first reply; with another body it is kIdempotencyReused.
struct MachineCall {
  std::string tenant;
  std::string actor;  // for the audit log: the id of the API key
  std::optional<IdempotencyKey> key;
  // A fresh id for the act that the call may cause.
  schemas::JobId act{schemas::Kind::kMachine, {}};
};

// The body of a reply, as it was made inside of the call's transaction.
struct Answer {
  std::string body;
  bool replayed = false;
};

// Makes the body; pure, on the commit thread, ≤ 50 µs.
template <class T>
using Compose = std::function<std::string(const T&)>;

}  // namespace millrace::storage

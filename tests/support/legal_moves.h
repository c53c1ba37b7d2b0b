#pragma once
#include "schemas/jobs/job.h"

namespace millrace::support {

// The transitions that docs/design/delivery.md allows, and queued → failed (its machine did not wake). The
// store guards each transition by SQL. The contract suite compares the store with this table.
inline bool legal_move(schemas::JobStatus from, schemas::JobStatus to) {
  using S = schemas::JobStatus;
  switch (from) {
    case S::kQueued:
      return to == S::kRunning || to == S::kFailed || to == S::kCancelled || to == S::kExpired;
    case S::kRunning:
      return to != S::kRunning;
    case S::kWaiting:
      return to == S::kQueued || to == S::kCancelled || to == S::kExpired;
    case S::kSucceeded:
    case S::kFailed:
    case S::kCancelled:
    case S::kExpired:
      return false;
  }
  return false;
}

}  // namespace millrace::support

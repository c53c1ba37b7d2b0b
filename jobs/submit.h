#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "platform/base/clock.h"
#include "storage/jobs/job_intake.h"

namespace millrace::jobs {

// A wish for a job, parsed and staged.
struct Order {
  schemas::JobId id;  // from `new_id`, so that a waiter can be registered before the submit
                      // (docs/design/delivery.md §2 rule 12)
  std::string tenant;
  std::string model;
  int priority = 0;
  std::string spec;  // as its kind packs it, ≤ storage::kInlineMax, else
  storage::Staged spec_blob;
  storage::Staged input;                             // the document; may be null
  std::optional<base::Uuid> machine{};               // storage::Submission::machine
  schemas::JobId wake{schemas::Kind::kMachine, {}};  // nil: a fresh one
  std::string actor{};                               // for the audit log; empty: not audited
  std::string secret;                                // sealed bytes (storage::Submission::secret)
  std::string lane_key;                              // empty: none
  bool rerun_on_loss = false;  // an at-most-once kind's job that may be run again after all
  std::string traceparent;
  std::optional<storage::IdempotencyKey> idempotency;
  bool replay_only = false;  // only what the key has made before, else kNotFound
  std::optional<std::chrono::milliseconds> deadline_after;  // default: the kind's
};

// The one way in for jobs. Thread-safe, never blocks; `done` on the announce thread after the commit.
class Submit {
 public:
  Submit(storage::Store& store, const base::Clock& clock) : intake_(store), clock_(clock) {}
  schemas::JobId new_id(schemas::Kind kind) const;
  void submit(Order&& order, storage::Callback<storage::Submitted> done);

 private:
  storage::JobIntake intake_;
  const base::Clock& clock_;
};

}  // namespace millrace::jobs

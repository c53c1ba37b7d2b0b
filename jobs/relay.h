#pragma once
#include <functional>

#include "bus/bus.h"
#include "jobs/waiters.h"
#include "storage/job_upkeep.h"
#include "storage/store.h"

namespace millrace::jobs {

// From the store's commit hook to the world: tokens to Dispatch (clearing the outbox on delivery reports),
// hints to Events and to this process's waiters. Runs on the announce thread: never blocks (delivery.md;
// architecture.md §2.2).
class Relay {
 public:
  struct Options {
    int window_min = 8;          // tokens per kind in Kafka at least
    double window_factor = 2.0;  // × the workers' free slots
  };
  Relay(storage::Store& store, bus::Dispatch& dispatch, bus::Events& events, Waiters& waiters,
        Options options);
  // Sets the commit hook; re-reads the outbox of an earlier process.
  void start();
  // More of the backlog may be published: after a claim or finish freed room, on a timer, after the bus came
  // back.
  void pump(schemas::Kind kind);

 private:
  void on_commit(const storage::Commit& commit);
  void publish(const storage::Ready& ready);

  storage::Store& store_;
  bus::Dispatch& dispatch_;
  bus::Events& events_;
  Waiters& waiters_;
  storage::JobUpkeep upkeep_;
  Options options_;
};

}  // namespace millrace::jobs

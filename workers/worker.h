#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "bus/bus.h"
#include "jobs/policy.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "platform/net/loop.h"
#include "storage/store.h"
#include "workers/runner.h"

namespace millrace::workers {

// The worker of one process: a name with its lock, the work loop, and slots per kind, each kind with a
// runner. Order of calls: `make`, `add` once per kind (a kind may be added later), `start`, Dispatch::start.
// Order of shutdown: `drain`, Dispatch::stop, the runners' engines, the worker, the store.
class Worker {
 public:
  struct Options {
    std::string data_dir;
    std::string host;  // its name; empty: that of the system
    std::string name;  // empty: `<host>-<first free n>`
    jobs::LeasePolicy lease;
    std::chrono::milliseconds poll_interval_min{1'000},
        poll_interval_max{2'000};  // poll interval for jobs without a token, while slots are free
    std::chrono::milliseconds drain_grace{10'000};  // how long running jobs may take to finish
  };
  // All must outlive the worker.
  struct Dependencies {
    storage::Store& store;
    bus::Dispatch& dispatch;
    base::Pool& pool;
    const base::Clock& clock;
    base::Metrics& metrics;
  };

  // Takes the name. kInvalidState: a worker of that name is running. Blocks for up to two seconds.
  static base::Result<std::unique_ptr<Worker>> make(Options options, Dependencies dependencies);
  // Without an earlier `drain`, running jobs are stopped with kLost and not waited for.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // How many attempts of a kind run at a time: `slots` ≥ 1, and `reserved_slots` more of tenants that run no
  // job of the kind. So a tenant whose long jobs hold all slots does not make others wait (docs/adr/0044).
  struct Slots {
    int slots = 1;
    int reserved_slots = 0;
  };
  // Call it once per kind, before `start` or after it, but not concurrently with it. After `start`: any
  // thread.
  void add(schemas::Kind kind, Slots slots, std::unique_ptr<Runner> runner);
  // Subscribes to Dispatch, releases the leases of a dead worker of this name, then begins to claim.
  void start();
  // The first step of a drain: stops claiming, while other modules finish their work. True: no claim is in
  // progress any more, reached within `deadline`. Blocks; not on the loop.
  bool stop_claiming(std::chrono::milliseconds deadline);
  // docs/design/delivery.md §12. Stops claiming and waits for claims in progress. Running jobs get
  // `drain_grace`, then are stopped and returned to the queue. Last, the worker's row and lock are removed.
  // True: all of it was done within `deadline`. Blocks; not on the loop. Idempotent.
  bool drain(std::chrono::milliseconds deadline);

  // Returns a function to call when a job's cancellation has been requested. If the job runs here, it is
  // stopped without waiting for a heartbeat. Thread-safe; may outlive the worker and does nothing then.
  std::function<void(const schemas::JobId&)> on_cancel_request() const;

  // Returns a function to call when another process has queued jobs of a kind, for which this one gets no
  // token. A worker with free slots looks for them at once. Thread-safe; may outlive the worker and does
  // nothing then.
  std::function<void(schemas::Kind)> on_queued_elsewhere() const;

  const std::string& name() const;
  const base::Uuid& incarnation() const;  // of this process, as in its rows in the store
  // For objects of a runner that need a loop (an HTTP client); runs from `make` until the destructor.
  net::Loop& loop();

 private:
  struct Impl;
  explicit Worker(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace millrace::workers

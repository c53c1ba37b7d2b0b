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

// The workers of one process: a name with its lock, the work loop, and slots per kind that a runner fills.
// In order: `make`, `add` once per kind (one may come later), `start`, Dispatch::start; at the end `drain`,
// Dispatch::stop, then the runners' engines, then the worker, then the store.
class Worker {
 public:
  struct Options {
    std::string data_dir;
    std::string name;  // empty: `<hostname>-<first free n>`
    jobs::LeasePolicy lease;
    std::chrono::milliseconds look_min{1'000},
        look_max{2'000};                            // for jobs without a token, while slots are free
    std::chrono::milliseconds drain_grace{10'000};  // what runs may end by itself for so long
  };
  // What a worker stands on; all outlive it.
  struct Dependencies {
    storage::Store& store;
    bus::Dispatch& dispatch;
    base::Pool& pool;
    const base::Clock& clock;
    base::Metrics& metrics;
  };

  // Takes the name. kInvalidState: a worker of that name lives. Blocks for up to two seconds.
  static base::Result<std::unique_ptr<Worker>> make(Options options, Dependencies dependencies);
  // Without `drain` before: what runs is told that its lease is lost and not waited for.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // `slots` ≥ 1 attempts of the kind at a time. Not beside `start`: before it, or later, once, for a kind
  // that begins late; then from any thread.
  void add(schemas::Kind kind, int slots, std::unique_ptr<Runner> runner);
  // Subscribes to Dispatch, releases what a dead worker of this name left, then begins to claim.
  void start();
  // The first step of a drain, while others end what they owe: no more claims. True: none is under way any
  // more, within `deadline`. Blocks; not on the loop.
  bool stop_claiming(std::chrono::milliseconds deadline);
  // docs/design/delivery.md §12: no more claims, those under way are waited for, what runs gets
  // `drain_grace`, then is stopped and goes back; at the end the worker's row and lock go. True: all of it
  // within `deadline`. Blocks; not on the loop. Idempotent.
  bool drain(std::chrono::milliseconds deadline);

  // To be told that a job has been asked to cancel, and have it stopped without the wait for a heartbeat if
  // it runs here. Thread-safe; may outlive the worker, then it does nothing.
  std::function<void(const schemas::JobId&)> cancel_hook() const;

  const std::string& name() const;
  const base::Uuid& incarnation() const;  // of this process, as its rows in the store say it
  // For what a runner needs there (an HTTP client); runs from `make` to the end.
  net::Loop& loop();

 private:
  struct Parts;
  explicit Worker(std::shared_ptr<Parts> parts);
  std::shared_ptr<Parts> parts_;
};

}  // namespace millrace::workers

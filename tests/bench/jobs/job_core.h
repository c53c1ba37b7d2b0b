#pragma once
#include <functional>
#include <memory>
#include <string>

#include "bus/bus.h"
#include "bus/local.h"
#include "jobs/job_submitter.h"
#include "jobs/maintenance.h"
#include "jobs/outbox_publisher.h"
#include "jobs/waiters.h"
#include "platform/base/clock.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "platform/net/loop.h"
#include "storage/store.h"
#include "tests/bench/jobs/noop_runner.h"
#include "workers/jobs/maintenance_timer.h"
#include "workers/worker.h"

namespace millrace::bench {

// The complete job core of a gateway without HTTP, with a runner that does nothing.
class JobCore {
 public:
  struct Options {
    std::string data_dir;
    std::string url;    // of a PostgreSQL database; empty: SQLite in data_dir
    std::string kafka;  // HOST:PORT; empty: in-process
    int slots = 64;
    int reserved_slots = 1;  // as a worker has for documents
  };
  // Called for each job that ended, on the completion thread. It must return within 10 µs.
  using Finished = std::function<void(const schemas::JobId& job, schemas::JobStatus status)>;

  // When it returns, everything except the worker is running.
  static base::Result<std::unique_ptr<JobCore>> open(Options options, Finished finished);
  ~JobCore();
  JobCore(const JobCore&) = delete;
  JobCore& operator=(const JobCore&) = delete;

  // Submits one job with a spec of 1 KB. `stored` is called after the commit, on the completion thread.
  void submit(const schemas::JobId& id, std::function<void(const base::Status&)> stored);
  schemas::JobId new_id() { return submit_->new_id(schemas::Kind::kOcr); }
  // Call it once. The worker subscribes before the bus starts, so call `start_bus` afterwards.
  base::Status start_worker(NoopRunner::Started started);
  base::Status start_bus();
  // Drains the worker, then stops the bus, maintenance, the store and the threads.
  void close();

 private:
  explicit JobCore(Options options) : options_(std::move(options)) {}

  Options options_;
  base::SystemClock clock_;
  base::Metrics metrics_;
  std::unique_ptr<bus::Dispatch> dispatch_;
  bus::LocalEvents events_;  // in-process, also when the dispatch is Kafka
  std::unique_ptr<storage::Store> store_;
  std::unique_ptr<base::Pool> pool_;
  std::unique_ptr<net::Loop> loop_;
  std::unique_ptr<jobs::Waiters> waiters_;
  std::unique_ptr<jobs::JobSubmitter> submit_;
  std::unique_ptr<jobs::OutboxPublisher> relay_;
  std::unique_ptr<jobs::Maintenance> maintenance_;
  std::unique_ptr<workers::MaintenanceTimer> maintenance_timer_;
  std::unique_ptr<workers::Worker> worker_;
};

}  // namespace millrace::bench

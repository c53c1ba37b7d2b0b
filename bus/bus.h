#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "schemas/jobs/job.h"

// Publishes tokens and hints, and receives them. The store is the source of truth: any message here may be
// lost, repeated, delayed or reordered, which costs only latency (docs/design/architecture.md §2).
namespace millrace::bus {

// "Job J is queued": published after the commit that queued it. Kafka: topic `millrace.jobs.<kind>`, message
// key = job id, `traceparent` as a message header.
struct Token {
  schemas::JobId job;
  std::int64_t epoch = 0;  // numbers the publications of one job
  std::string tenant;
  std::string traceparent;  // W3C, may be empty
};

enum class Health { kUp, kDegraded };
struct HealthReport {
  Health health = Health::kUp;
  std::string detail;  // for /readyz and doctor: names the brokers and the problem
};

// Delivers tokens to workers. Implementations: local (in-process), Kafka. Thread-safe.
class Dispatch {
 public:
  // Receives a token on the bus's thread; it must hand the token over and return. `acknowledge` must be
  // called exactly once, from any thread, when the claim has succeeded or failed. Then Kafka's offset is
  // stored.
  using OnToken = std::function<void(Token token, std::function<void()> acknowledge)>;
  // Ok: delivered. Error: given up. Called on the bus's thread.
  using OnDelivered = std::function<void(base::Status)>;

  virtual ~Dispatch() = default;
  // Never blocks. kOverloaded if the local queue is full; `done` then runs at once.
  virtual void publish(Token token, OnDelivered done) = 0;
  // Called once per kind of this process, before or after `start`, but not concurrently with `stop`. `worker`
  // is the process's worker name (static membership).
  virtual void subscribe(schemas::Kind kind, std::string worker, OnToken on_token) = 0;
  // Sets how many more tokens of the kind the process accepts; 0 pauses the kind. Initially 0.
  virtual void set_capacity(schemas::Kind kind, std::size_t tokens) = 0;
  // The process permanently accepts no more tokens of the kind; its share goes to other processes. Does not
  // block.
  virtual void leave(schemas::Kind /*kind*/) {}
  virtual base::Status start() = 0;
  // Stops taking tokens and waits for publishes in progress, at most until the deadline. Idempotent.
  virtual void stop(std::chrono::milliseconds deadline) = 0;
  virtual HealthReport health() const = 0;
  // The number of tokens of the kind that are assigned to this process and not decided yet, as last reported
  // by the bus; 0 for a bus that stores no tokens.
  virtual std::int64_t lag(schemas::Kind kind) const = 0;
  // The same per partition assigned to this process; empty for a bus without partitions.
  virtual std::vector<schemas::PartitionLag> lags(schemas::Kind /*kind*/) const { return {}; }
  // True: tokens outlive the process, so an outbox is required.
  virtual bool durable() const = 0;
};

// Hints for waiters and event streams. Every subscriber of every process sees every hint published after it
// subscribed, while the bus is up. Thread-safe.
class Events {
 public:
  using OnHint = std::function<void(const schemas::JobChange&)>;
  using OnQueued = std::function<void(schemas::Kind)>;

  virtual ~Events() = default;
  virtual void publish(schemas::JobChange hint) = 0;  // never blocks; dropped when full
  // Jobs of the kind are ready to be claimed. Calls `on_queued_elsewhere` in other processes. Never blocks.
  virtual void publish_queued(schemas::Kind /*kind*/) {}
  virtual void subscribe(OnHint on_hint) = 0;  // before `start`; runs on the bus's thread: ≤ 10 µs
  // Called after another process has called `publish_queued`. Only by buses between processes whose Dispatch
  // carries no tokens between them. Before `start`; runs on the bus's thread: ≤ 10 µs.
  virtual void on_queued_elsewhere(OnQueued /*on_queued*/) {}
  virtual base::Status start() = 0;
  virtual void stop(std::chrono::milliseconds deadline) = 0;
  virtual HealthReport health() const = 0;
};

}  // namespace millrace::bus

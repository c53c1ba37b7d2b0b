#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "schemas/jobs/job.h"

// Nudges out, hints in. The truth is the store: every message here may be lost, repeated, delayed or
// reordered, and costs latency at most (docs/design/architecture.md §2).
namespace millrace::bus {

// "Job J waits to be run": published after the commit that queued it. Kafka: topic `millrace.jobs.<kind>`,
// message key = job id, `traceparent` as a message header.
struct Token {
  schemas::JobId job;
  std::int64_t epoch = 0;  // numbers the publications of one job
  std::string tenant;
  std::string traceparent;  // W3C, may be empty
};

enum class Health { kUp, kDegraded };
struct HealthReport {
  Health health = Health::kUp;
  std::string detail;  // for /readyz and doctor: names the brokers and what is wrong
};

// Work for workers. Implementations: local (in-process), Kafka. Thread-safe.
class Dispatch {
 public:
  // What a subscriber does with a token; `taken` must be called exactly once, from any thread, when the claim
  // is decided either way: then (Kafka) the offset is stored. Called on the bus's own thread: hand over and
  // return.
  using OnToken = std::function<void(Token token, std::function<void()> taken)>;
  // Delivered (ok) or given up (error); on the bus's own thread.
  using OnDelivered = std::function<void(base::Status)>;

  virtual ~Dispatch() = default;
  // Never blocks. kOverloaded if the local queue is full; `done` then runs at once.
  virtual void publish(Token token, OnDelivered done) = 0;
  // One call per kind of this process, before `start` or later; not beside `stop`. `worker` is the process's
  // worker name (static membership).
  virtual void subscribe(schemas::Kind kind, std::string worker, OnToken on_token) = 0;
  // Tells the bus how many more tokens of the kind are welcome; 0 pauses it. Starts at 0.
  virtual void set_capacity(schemas::Kind kind, std::size_t tokens) = 0;
  // The process takes no more tokens of the kind, for good: what the bus would keep for it goes to others.
  // Does not block.
  virtual void leave(schemas::Kind /*kind*/) {}
  virtual base::Status start() = 0;
  // Stops taking tokens, waits for publishes under way until the deadline. Idempotent.
  virtual void stop(std::chrono::milliseconds deadline) = 0;
  virtual HealthReport health() const = 0;
  // Tokens of the kind that this process would get and has not decided yet, as far as the bus has told it; 0
  // where nothing waits in a bus.
  virtual std::int64_t lag(schemas::Kind kind) const = 0;
  // The same by partition, of those that this process has; empty where there are none.
  virtual std::vector<schemas::PartitionLag> lags(schemas::Kind /*kind*/) const { return {}; }
  // True when tokens outlive the process, so that an outbox must be kept.
  virtual bool durable() const = 0;
};

// Hints for waiters and event streams. Every subscriber of every process sees every hint published after it
// subscribed, while the bus is up. Thread-safe.
class Events {
 public:
  using OnHint = std::function<void(const schemas::JobChange&)>;

  virtual ~Events() = default;
  virtual void publish(schemas::JobChange hint) = 0;  // never blocks; dropped when full
  virtual void subscribe(OnHint on_hint) = 0;  // before `start`; called on the bus's own thread: ≤ 10 µs
  virtual base::Status start() = 0;
  virtual void stop(std::chrono::milliseconds deadline) = 0;
  virtual HealthReport health() const = 0;
};

}  // namespace millrace::bus

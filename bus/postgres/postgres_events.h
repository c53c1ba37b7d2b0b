#pragma once
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "bus/bus.h"

namespace millrace::bus {

// Hints through the PostgreSQL database that the processes share (NOTIFY), for stores of several hosts
// without Kafka. Hints are collected while the last ones are being sent, outside of the store's transactions.
// Once health() is kUp, subscribers receive every published hint, until the connection is lost; then it
// connects again. Thread-safe; it has one thread and one connection.
class PostgresEvents final : public Events {
 public:
  struct Options {
    std::string url;                 // store.url
    std::size_t queue_max = 50'000;  // hints that wait; more are dropped, and the log has their number
    std::chrono::milliseconds retry_interval{1'000};  // between attempts to connect
  };

  explicit PostgresEvents(Options options);
  ~PostgresEvents() override;  // stop(0)

  void publish(schemas::JobChange hint) override;
  void publish_queued(schemas::Kind kind) override;
  void subscribe(OnHint on_hint) override;
  void on_queued_elsewhere(OnQueued on_queued) override;
  base::Status start() override;  // succeeds even if the server is down
  void stop(std::chrono::milliseconds deadline) override;
  HealthReport health() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::bus

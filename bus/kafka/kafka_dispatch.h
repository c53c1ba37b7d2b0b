#pragma once
#include <chrono>
#include <cstddef>
#include <memory>

#include "bus/bus.h"
#include "bus/kafka/kafka_settings.h"

namespace millrace::bus {

// Tokens through Kafka: topic `<prefix>.jobs.<kind>`, consumer group `<prefix>.<kind>`, key = job id. A
// broker that is down, wiped or restarted, or a deleted topic, costs only latency: publishing fails or waits
// for at most message_timeout, and consuming continues when the broker is back. Missing topics are created.
// Delivery is at least once: a token may be delivered again after a restart, a rebalance or a lost
// acknowledgement. Thread-safe.
//
// It has one thread for delivery reports (`done`), one that checks the brokers, and one per subscribed kind
// (`on_token`).
class KafkaDispatch final : public Dispatch {
 public:
  struct Options {
    KafkaCluster cluster;
    std::size_t queue_max = 10'000;     // tokens queued for the broker; more are refused
    std::size_t buffered_max = 1024;    // tokens per kind held for capacity before Kafka is paused
    std::chrono::seconds watchdog{10};  // a poll thread that is stuck for longer is reported
    std::chrono::hours retention{24};   // of topics that the gateway creates: a job's default deadline
  };

  explicit KafkaDispatch(Options options);
  ~KafkaDispatch() override;  // stop(0)

  void publish(Token token, OnDelivered done) override;
  void subscribe(schemas::Kind kind, std::string worker, OnToken on_token) override;
  void set_capacity(schemas::Kind kind, std::size_t tokens) override;
  // Gives the kind's partitions to the group's other members.
  void leave(schemas::Kind kind) override;
  // Succeeds even if the brokers are down. Fails if librdkafka refuses a setting, which the error names.
  base::Status start() override;
  // If the brokers are down, it may take up to 7 s longer per client, because librdkafka waits for commits in
  // progress (KafkaClient).
  void stop(std::chrono::milliseconds deadline) override;
  HealthReport health() const override;
  std::int64_t lag(schemas::Kind kind) const override;
  std::vector<schemas::PartitionLag> lags(schemas::Kind kind) const override;
  bool durable() const override { return true; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::bus

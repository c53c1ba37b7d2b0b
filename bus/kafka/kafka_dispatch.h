#pragma once
#include <chrono>
#include <cstddef>
#include <memory>

#include "bus/bus.h"
#include "bus/kafka/kafka_settings.h"

namespace millrace::bus {

// Tokens through Kafka: topic `<prefix>.jobs.<kind>`, consumer group `<prefix>.<kind>`, key = job id. A
// broker that is down, wiped or restarted, or a topic that is deleted, costs latency only: publishing fails
// or waits for at most message_timeout, taking goes on when the broker is back. Missing topics are made. At
// least once: a token may come again after a restart, a rebalance or a lost acknowledgement. Thread-safe.
//
// Threads of its own: one for deliveries (`done`), one that looks at the brokers, one per subscribed kind
// (`on_token`).
class KafkaDispatch final : public Dispatch {
 public:
  struct Options {
    KafkaCluster cluster;
    std::size_t queue_max = 10'000;     // tokens that wait for the broker; more are refused
    std::size_t held_max = 1024;        // tokens per kind that wait for room before Kafka is paused
    std::chrono::seconds watchdog{10};  // a poll thread that is silent for longer is reported
    std::chrono::hours retention{24};   // of a topic that the program makes: the default deadline of a job
  };

  explicit KafkaDispatch(Options options);
  ~KafkaDispatch() override;  // stop(0)

  void publish(Token token, OnDelivered done) override;
  void subscribe(schemas::Kind kind, std::string worker, OnToken on_token) override;
  void set_capacity(schemas::Kind kind, std::size_t tokens) override;
  // Its partitions are given to the group's other members.
  void leave(schemas::Kind kind) override;
  // Succeeds with the broker down; fails on a setting that librdkafka refuses, which the error names.
  base::Status start() override;
  // With the broker down it may take up to 7 s longer for each client: librdkafka waits for commits under way
  // (KafkaClient).
  void stop(std::chrono::milliseconds deadline) override;
  HealthReport health() const override;
  std::int64_t lag(schemas::Kind kind) const override;
  std::vector<schemas::PartitionLag> lags(schemas::Kind kind) const override;
  bool durable() const override { return true; }

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::bus

#pragma once
#include <chrono>
#include <cstddef>
#include <memory>

#include "bus/bus.h"
#include "bus/kafka/kafka_settings.h"

namespace millrace::bus {

// Hints through Kafka: topic `<prefix>.events`. Every process reads it from its current end, without a shared
// group. Once health() is kUp, a subscriber receives every published hint. Hints that a failed broker drops
// are lost; waiters still poll the store slowly. Missing topics are created. Thread-safe.
//
// It has one thread for delivery reports, one that checks the brokers, and, with a subscriber, one that
// reads.
class KafkaEvents final : public Events {
 public:
  struct Options {
    KafkaCluster cluster;
    std::size_t queue_max =
        50'000;  // hints queued for the broker; more are dropped, and the log has their number
    std::chrono::hours retention{1};  // of a topic that the gateway creates
  };

  explicit KafkaEvents(Options options);
  ~KafkaEvents() override;  // stop(0)

  void publish(schemas::JobChange hint) override;
  void subscribe(OnHint on_hint) override;
  // Succeeds even if the brokers are down. Fails if librdkafka refuses a setting, which the error names.
  base::Status start() override;
  void stop(std::chrono::milliseconds deadline) override;
  HealthReport health() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::bus

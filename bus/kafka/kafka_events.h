#pragma once
#include <chrono>
#include <cstddef>
#include <memory>

#include "bus/bus.h"
#include "bus/kafka/kafka_settings.h"

namespace millrace::bus {

// Hints through Kafka: topic `<prefix>.events`, read by every process from its end on, without a shared
// group. Once health() says up, a subscriber sees every hint that is published. What a broken broker swallows
// is lost: readers have their slow look at the store. Missing topics are made. Thread-safe.
//
// Threads of its own: one for deliveries, one that looks at the brokers, and one that reads, if there is a
// subscriber.
class KafkaEvents final : public Events {
 public:
  struct Options {
    KafkaCluster cluster;
    std::size_t queue_max =
        50'000;  // hints that wait for the broker; more are dropped, and counted in the log
    std::chrono::hours retention{1};  // of a topic that the program makes
  };

  explicit KafkaEvents(Options options);
  ~KafkaEvents() override;  // stop(0)

  void publish(schemas::JobChange hint) override;
  void subscribe(OnHint on_hint) override;
  // Succeeds with the broker down; fails on a setting that librdkafka refuses, which the error names.
  base::Status start() override;
  void stop(std::chrono::milliseconds deadline) override;
  HealthReport health() const override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::bus

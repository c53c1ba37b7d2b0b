#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bus/bus.h"
#include "bus/kafka/kafka_client.h"
#include "bus/kafka/kafka_settings.h"

namespace millrace::bus {

// Reads every partition of the events topic, starting at its end. It joins no group and stores no offset, so
// each process receives every hint. Thread-safe.
class KafkaHints {
 public:
  using OnHint = Events::OnHint;

  // Subscribers and `on_problem` run on the reader's thread. `on_problem` is called when the topic
  // disappears.
  KafkaHints(KafkaCluster cluster, std::vector<OnHint> subscribers,
             std::function<void(std::string)> on_problem);
  ~KafkaHints();  // close()
  KafkaHints(const KafkaHints&) = delete;
  KafkaHints& operator=(const KafkaHints&) = delete;

  base::Status open();  // fails only if librdkafka refuses a setting
  // Sets the topic's current number of partitions. New partitions are read from their beginning.
  void partitions(int count);
  void close();
  // True once every known partition is being read: every hint published after that is received.
  bool reading() const { return reading_.load(std::memory_order_acquire); }

 private:
  void run(const std::stop_token& stop);
  void begin_missing();
  base::Result<std::int64_t> first_offset(int partition);
  void receive(const rd_kafka_message_t& message);

  const KafkaCluster cluster_;
  const std::string topic_;
  const std::vector<OnHint> subscribers_;
  const std::function<void(std::string)> on_problem_;
  std::shared_ptr<KafkaClient> client_;
  RdQueue queue_;  // the client's main queue: hints, errors and wake-ups
  int begun_ = 0;  // partitions being read; used by the reader thread only
  bool first_time_ = true;
  std::atomic<int> requested_{0};
  std::atomic<bool> reading_{false};
  std::jthread thread_;
};

}  // namespace millrace::bus

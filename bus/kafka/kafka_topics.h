#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bus/bus.h"
#include "bus/kafka/kafka_client.h"
#include "bus/kafka/kafka_settings.h"

namespace millrace::bus {

struct NewKafkaTopic {
  std::string name;
  int partitions = 1;
  int replication = -1;  // -1: the broker's default
  std::chrono::milliseconds retention{};
};

// Returns the topic's number of partitions; 0: there is no such topic. Also refreshes the client's metadata
// of the topic. Blocks up to the time-out.
base::Result<int> kafka_partitions(KafkaClient& client, const std::string& topic,
                                   std::chrono::milliseconds timeout);

// Creates the topics; existing topics are not changed. Blocks up to the time-out.
base::Status make_kafka_topics(KafkaClient& client, const std::vector<NewKafkaTopic>& topics,
                               std::chrono::milliseconds timeout);

struct KafkaTopicPlan {
  std::string name;
  std::chrono::milliseconds retention;  // of a topic that the gateway creates
};

// Periodically checks the brokers and our topics on a dedicated thread: creates missing topics, reports the
// number of partitions of each, and keeps the health state. Thread-safe.
class KafkaMonitor {
 public:
  struct Options {
    KafkaCluster cluster;
    std::vector<KafkaTopicPlan> topics;
  };
  struct Hooks {
    std::function<std::shared_ptr<KafkaClient>()> client;  // for requests; has every topic of the plan
    std::function<void(const std::map<std::string, int>&)> topics;  // all topics exist: partitions by name
    std::function<std::string()> problem;                           // other problems of the bus; empty: none
  };

  // Hooks run on the watch's thread; `trouble` on any thread.
  KafkaMonitor(Options options, Hooks hooks);
  ~KafkaMonitor();  // stop()

  void start();
  void stop();  // waits for a check in progress (≤ request_timeout per topic)
  // Another component failed: the health is degraded until the next check, which starts at once.
  void broken(std::string reason);
  HealthReport health() const;

 private:
  void run(const std::stop_token& stop);
  base::Status check();
  void record(std::string reason);

  const Options options_;
  const Hooks hooks_;
  mutable std::mutex mutex_;
  std::condition_variable_any wakeup_;
  bool check_now_ = false;
  std::string reason_ = "no broker reached yet";  // empty: the last check found no problem
  std::jthread thread_;
};

}  // namespace millrace::bus

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

// How many partitions the topic has; 0: there is no such topic. Blocks up to the time-out. The client's own
// knowledge of the topic is refreshed by it.
base::Result<int> kafka_partitions(KafkaClient& client, const std::string& topic,
                                   std::chrono::milliseconds timeout);

// Makes the topics; one that is there already is left as it is. Blocks up to the time-out.
base::Status make_kafka_topics(KafkaClient& client, const std::vector<NewKafkaTopic>& topics,
                               std::chrono::milliseconds timeout);

struct KafkaTopicPlan {
  std::string name;
  std::chrono::milliseconds retention;  // of a topic that the program makes
};

// Looks at the brokers and at our topics again and again, on a thread of its own: makes missing topics, tells
// how many partitions each has, and knows whether Kafka can be used. Thread-safe.
class KafkaWatch {
 public:
  struct Options {
    KafkaCluster cluster;
    std::vector<KafkaTopicPlan> topics;
  };
  struct Hooks {
    std::function<std::shared_ptr<KafkaClient>()> client;  // to ask with; knows every topic of the plan
    std::function<void(const std::map<std::string, int>&)> topics;  // all are there: partitions by name
    std::function<std::string()> trouble;  // what else is wrong with the bus; empty: nothing
  };

  // Hooks run on the watch's thread; `trouble` on any.
  KafkaWatch(Options options, Hooks hooks);
  ~KafkaWatch();  // stop()

  void start();
  void stop();  // waits for a look under way (≤ request_timeout per topic)
  // Something failed elsewhere: degraded until the next look, which comes at once.
  void broken(std::string reason);
  HealthReport health() const;

 private:
  void run(const std::stop_token& stop);
  base::Status look();
  void record(std::string reason);

  const Options options_;
  const Hooks hooks_;
  mutable std::mutex mutex_;
  std::condition_variable_any prodded_;
  bool look_now_ = false;
  std::string reason_ = "not reached yet";  // empty: the last look found nothing wrong
  std::jthread thread_;
};

}  // namespace millrace::bus

#pragma once
#include <chrono>
#include <string>
#include <vector>

#include "bus/kafka_client.h"

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

}  // namespace millrace::bus

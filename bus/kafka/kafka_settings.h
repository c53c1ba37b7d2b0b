#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "bus/kafka/kafka_client.h"
#include "schemas/jobs/job.h"

namespace millrace::bus {

// Which Kafka, and how it is reached. Shared by dispatch and events.
struct KafkaCluster {
  std::vector<std::string> brokers;  // HOST:PORT, at least one
  std::string prefix = "millrace";  // of topics and groups; gateways that share a cluster take different ones
  std::string client_id = "millrace";
  int partitions = 8;    // of a topic that the program makes; an existing topic keeps its own
  int replication = -1;  // of a topic that the program makes; -1: the broker's default
  std::chrono::milliseconds message_timeout{10'000};  // a publish is given up after it
  std::chrono::milliseconds look_every{5'000};        // at brokers and topics, while all is well
  std::chrono::milliseconds look_again{500};          // the same, while something is wrong
  std::chrono::milliseconds request_timeout{2'000};   // of one look, and of making a topic

  std::string jobs_topic(schemas::Kind kind) const {
    return prefix + ".jobs." + std::string(schemas::name(kind));
  }
  std::string events_topic() const { return prefix + ".events"; }
  std::string group(schemas::Kind kind) const { return prefix + "." + std::string(schemas::name(kind)); }
  std::string broker_list() const {
    std::string list;
    for (const std::string& broker : brokers) list += (list.empty() ? "" : ",") + broker;
    return list;
  }
};

// librdkafka's settings as docs/design/delivery.md ("Kafka settings") wants them, each with its reason.

KafkaSettings producer_settings(const KafkaCluster& cluster, std::size_t queue_max);

struct GroupMember {
  std::string group;
  std::string worker;  // static membership: a worker that comes back takes its partitions without a rebalance
};
KafkaSettings group_consumer_settings(const KafkaCluster& cluster, const GroupMember& member);

// A reader that belongs to no group and stores no offset.
KafkaSettings lone_consumer_settings(const KafkaCluster& cluster);

}  // namespace millrace::bus

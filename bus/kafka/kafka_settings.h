#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "bus/kafka/kafka_client.h"
#include "schemas/jobs/job.h"

namespace millrace::bus {

// The Kafka cluster and its connection settings. Shared by dispatch and events.
struct KafkaCluster {
  std::vector<std::string> brokers;  // HOST:PORT, at least one
  std::string prefix = "millrace";   // of topics and groups; unique per gateway that shares a cluster
  std::string client_id = "millrace";
  int partitions = 8;    // of topics that the gateway creates; an existing topic keeps its number
  int replication = -1;  // of topics that the gateway creates; -1: the broker's default
  std::chrono::milliseconds message_timeout{10'000};    // of a publish
  std::chrono::milliseconds check_interval{5'000};      // interval of broker and topic checks while healthy
  std::chrono::milliseconds check_retry_interval{500};  // the same while unhealthy
  std::chrono::milliseconds request_timeout{2'000};     // of one check, and of creating a topic

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

// librdkafka's settings as required by docs/design/delivery.md ("Kafka settings"), each with its reason.

KafkaSettings producer_settings(const KafkaCluster& cluster, std::size_t queue_max);

struct GroupMember {
  std::string group;
  std::string worker;  // static membership: a restarted worker gets its partitions without a rebalance
};
KafkaSettings group_consumer_settings(const KafkaCluster& cluster, const GroupMember& member);

// A consumer that belongs to no group and stores no offset.
KafkaSettings lone_consumer_settings(const KafkaCluster& cluster);

}  // namespace millrace::bus

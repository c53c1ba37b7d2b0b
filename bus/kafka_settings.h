#pragma once
#include <cstddef>
#include <string>

#include "bus/kafka_client.h"
#include "bus/kafka_cluster.h"

// librdkafka's settings as delivery.md ("Kafka settings") wants them, each with its reason.
namespace millrace::bus {

KafkaSettings producer_settings(const KafkaCluster& cluster, std::size_t queue_max);

struct GroupMember {
  std::string group;
  std::string worker;  // static membership: a worker that comes back takes its partitions without a rebalance
};
KafkaSettings group_consumer_settings(const KafkaCluster& cluster, const GroupMember& member);

// A reader that belongs to no group and stores no offset.
KafkaSettings lone_consumer_settings(const KafkaCluster& cluster);

}  // namespace millrace::bus

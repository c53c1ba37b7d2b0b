#include "bus/kafka/kafka_settings.h"

namespace millrace::bus {
namespace {

KafkaSettings shared_settings(const KafkaCluster& cluster) {
  return {
      {"bootstrap.servers", cluster.broker_list()},
      {"client.id", cluster.client_id},
      {"socket.nagle.disable", "true"},
      {"socket.keepalive.enable", "true"},
      {"socket.connection.setup.timeout.ms", "5000"},  // librdkafka's 30 s exceed our own limits
      {"reconnect.backoff.ms", "50"},
      {"reconnect.backoff.max.ms", "1000"},  // reconnects within a second after a broker restart
      {"log.connection.close", "false"},
      {"topic.metadata.refresh.interval.ms", "2000"},  // detects a topic that was deleted and recreated
      {"allow.auto.create.topics", "false"},           // the gateway creates them, with its partition count
  };
}

void fetch_settings(KafkaSettings& settings) {
  settings.insert(settings.end(),
                  {
                      {"fetch.min.bytes", "1"},
                      // A resumed partition waits for the fetch in progress; this limits that wait.
                      {"fetch.wait.max.ms", "100"},
                      {"fetch.error.backoff.ms", "50"},
                      {"auto.offset.reset", "earliest"},
                      {"queued.max.messages.kbytes", "4096"},
                      {"enable.partition.eof", "false"},
                  });
}

}  // namespace

KafkaSettings producer_settings(const KafkaCluster& cluster, std::size_t queue_max) {
  KafkaSettings settings = shared_settings(cluster);
  settings.insert(settings.end(), {
                                      {"enable.idempotence", "true"},
                                      {"acks", "all"},
                                      // On a new topic the broker may refuse a partition's first request,
                                      // accept the second, and treat the retry of the first as a duplicate.
                                      // Then the first would be reported as delivered without being stored.
                                      {"max.in.flight", "1"},
                                      {"linger.ms", "0"},
                                      {"message.timeout.ms", std::to_string(cluster.message_timeout.count())},
                                      {"queue.buffering.max.messages", std::to_string(queue_max)},
                                      {"retry.backoff.ms", "50"},
                                  });
  return settings;
}

KafkaSettings group_consumer_settings(const KafkaCluster& cluster, const GroupMember& member) {
  KafkaSettings settings = shared_settings(cluster);
  fetch_settings(settings);
  settings.insert(settings.end(),
                  {
                      {"group.id", member.group},
                      {"group.instance.id", member.worker},
                      {"partition.assignment.strategy", "range,roundrobin"},  // both are eager
                      // The broker's minimum; a stop may wait this long for a lost coordinator.
                      {"session.timeout.ms", "6000"},
                      {"heartbeat.interval.ms", "1000"},
                      {"enable.auto.offset.store", "false"},
                      {"enable.auto.commit", "true"},  // of stored offsets only
                      {"auto.commit.interval.ms", "1000"},
                      // Far above the outbox publisher's window per kind, because a full queue stalls its
                      // partition for up to a second.
                      {"queued.min.messages", "2048"},
                  });
  return settings;
}

KafkaSettings lone_consumer_settings(const KafkaCluster& cluster) {
  KafkaSettings settings = shared_settings(cluster);
  fetch_settings(settings);
  settings.insert(settings.end(), {
                                      {"enable.auto.commit", "false"},
                                      {"enable.auto.offset.store", "false"},
                                      {"queued.min.messages", "10000"},
                                  });
  return settings;
}

}  // namespace millrace::bus

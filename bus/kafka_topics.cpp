#include "bus/kafka_topics.h"

#include <array>
#include <span>

#include "platform/base/log.h"

namespace millrace::bus {
namespace {

using RdEvent = std::unique_ptr<rd_kafka_event_t, RdFree<rd_kafka_event_destroy>>;
using RdNewTopic = std::unique_ptr<rd_kafka_NewTopic_t, RdFree<rd_kafka_NewTopic_destroy>>;
using RdAdminOptions = std::unique_ptr<rd_kafka_AdminOptions_t, RdFree<rd_kafka_AdminOptions_destroy>>;
using RdMetadata = std::unique_ptr<const rd_kafka_metadata_t, RdFree<rd_kafka_metadata_destroy>>;

int millis(std::chrono::milliseconds time) { return static_cast<int>(time.count()); }

base::Result<RdNewTopic> request_for(const NewKafkaTopic& topic) {
  std::array<char, 256> reason{};
  RdNewTopic request(rd_kafka_NewTopic_new(topic.name.c_str(), topic.partitions, topic.replication,
                                           reason.data(), reason.size()));
  if (!request)
    return base::error(base::Code::kInvalidField, "Kafka topic " + topic.name + ": " + reason.data());
  rd_kafka_NewTopic_set_config(request.get(), "retention.ms",
                               std::to_string(topic.retention.count()).c_str());
  return request;
}

base::Status outcome_of(rd_kafka_event_t* event) {
  if (const auto code = rd_kafka_event_error(event); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return kafka_error(code, "Kafka topics cannot be made");
  }
  std::size_t count = 0;
  const auto* results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto code = rd_kafka_topic_result_error(results[i]);
    const std::string name = rd_kafka_topic_result_name(results[i]);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
      base::log_info("kafka_topic_made", {{"topic", name}});
    } else if (code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
      return kafka_error(code, "Kafka topic " + name + " cannot be made");
    }
  }
  return {};
}

}  // namespace

base::Result<int> kafka_partitions(KafkaClient& client, const std::string& topic,
                                   std::chrono::milliseconds timeout) {
  const rd_kafka_metadata_t* raw = nullptr;
  const auto code = rd_kafka_metadata(client.get(), 0, client.topic(topic), &raw, millis(timeout));
  const RdMetadata metadata(raw);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_error(code, "not reachable");
  if (metadata->topic_cnt != 1) return 0;
  const rd_kafka_metadata_topic_t& found = metadata->topics[0];
  if (found.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return 0;
  if (found.err != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_error(found.err, "topic " + topic);
  for (const auto& partition : std::span(found.partitions, static_cast<std::size_t>(found.partition_cnt))) {
    if (partition.leader < 0) return kafka_error(RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, "topic " + topic);
  }
  return found.partition_cnt;
}

base::Status make_kafka_topics(KafkaClient& client, const std::vector<NewKafkaTopic>& topics,
                               std::chrono::milliseconds timeout) {
  std::vector<RdNewTopic> requests;
  std::vector<rd_kafka_NewTopic_t*> raw;
  for (const NewKafkaTopic& topic : topics) {
    auto request = request_for(topic);
    if (!request) return request.error();
    raw.push_back(request->get());
    requests.push_back(std::move(*request));
  }
  std::array<char, 256> reason{};
  const RdAdminOptions options(rd_kafka_AdminOptions_new(client.get(), RD_KAFKA_ADMIN_OP_CREATETOPICS));
  for (const auto set :
       {rd_kafka_AdminOptions_set_request_timeout, rd_kafka_AdminOptions_set_operation_timeout}) {
    if (const auto code = set(options.get(), millis(timeout), reason.data(), reason.size());
        code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return kafka_error(code, reason.data());
    }
  }
  const RdQueue queue(rd_kafka_queue_new(client.get()));
  rd_kafka_CreateTopics(client.get(), raw.data(), raw.size(), options.get(), queue.get());
  const RdEvent event(rd_kafka_queue_poll(queue.get(), 2 * millis(timeout)));
  if (!event) return kafka_error(RD_KAFKA_RESP_ERR__TIMED_OUT, "Kafka topics cannot be made");
  return outcome_of(event.get());
}

}  // namespace millrace::bus

#pragma once
#include <memory>
#include <stdexcept>
#include <string>

#include "bus/kafka/kafka_client.h"

// Changes that an operator can make to the broker while clients use it.
namespace millrace::bus {

inline void delete_kafka_topic(const std::string& address, const std::string& topic) {
  constexpr int kTimeoutMs = 10'000;
  const auto client = KafkaClient::make(RD_KAFKA_PRODUCER, {{"bootstrap.servers", address}}, {}, {});
  if (!client) throw std::runtime_error(client.error().message);
  rd_kafka_t* handle = (*client)->get();
  const std::unique_ptr<rd_kafka_DeleteTopic_t, RdFree<rd_kafka_DeleteTopic_destroy>> request(
      rd_kafka_DeleteTopic_new(topic.c_str()));
  rd_kafka_DeleteTopic_t* raw = request.get();
  const RdQueue queue(rd_kafka_queue_new(handle));
  rd_kafka_DeleteTopics(handle, &raw, 1, nullptr, queue.get());
  const std::unique_ptr<rd_kafka_event_t, RdFree<rd_kafka_event_destroy>> event(
      rd_kafka_queue_poll(queue.get(), kTimeoutMs));
  if (!event || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error("topic " + topic + " cannot be deleted");
  }
}

}  // namespace millrace::bus

#include "bus/kafka/kafka_hints.h"

#include <utility>

#include "bus/kafka/kafka_settings.h"
#include "bus/kafka/kafka_topics.h"
#include "platform/base/log.h"
#include "schemas/envelope.h"

namespace millrace::bus {
namespace {}  // namespace

KafkaHints::KafkaHints(KafkaCluster cluster, std::vector<OnHint> subscribers,
                       std::function<void(std::string)> on_problem)
    : cluster_(std::move(cluster)),
      topic_(cluster_.events_topic()),
      subscribers_(std::move(subscribers)),
      on_problem_(std::move(on_problem)) {}

KafkaHints::~KafkaHints() { close(); }

base::Status KafkaHints::open() {
  KafkaClient::Callbacks callbacks;
  callbacks.on_error = [this](rd_kafka_resp_err_t code, std::string_view reason) {
    if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) on_problem_(std::string(reason));
  };
  auto made =
      KafkaClient::make(RD_KAFKA_CONSUMER, lone_consumer_settings(cluster_), {topic_}, std::move(callbacks));
  if (!made) return made.error();
  client_ = std::move(*made);
  queue_.reset(rd_kafka_queue_get_main(client_->get()));
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return {};
}

void KafkaHints::partitions(int count) {
  if (requested_.exchange(count) != count) client_->wake(queue_.get());
}

void KafkaHints::close() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  client_->wake(queue_.get());
  thread_.join();
  queue_.reset();
  client_.reset();
}

void KafkaHints::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (begun_ < requested_) begin_missing();
    const auto again = static_cast<int>(cluster_.check_retry_interval.count());
    const RdMessage message(rd_kafka_consume_queue(queue_.get(), begun_ < requested_ ? again : kPollMs));
    if (message) receive(*message);
  }
  for (int partition = 0; partition < begun_; ++partition) {
    rd_kafka_consume_stop(client_->topic(topic_), partition);
  }
}

void KafkaHints::begin_missing() {
  const int requested = requested_;
  reading_ = false;
  // Also refreshes this client's metadata.
  const auto known = kafka_partitions(*client_, topic_, cluster_.request_timeout);
  if (!known || *known < requested) return;
  for (; begun_ < requested; ++begun_) {
    const auto offset = first_offset(begun_);
    if (!offset) return on_problem_(offset.error().message);
    rd_kafka_consume_start_queue(client_->topic(topic_), begun_, *offset, queue_.get());
  }
  first_time_ = false;
  reading_.store(true, std::memory_order_release);
}

// The partition's current end, so that no hint published after `reading()` is missed. A partition that is
// added later is read from its beginning.
base::Result<std::int64_t> KafkaHints::first_offset(int partition) {
  if (!first_time_) return RD_KAFKA_OFFSET_BEGINNING;
  std::int64_t low = 0;
  std::int64_t high = 0;
  const auto code = rd_kafka_query_watermark_offsets(client_->get(), topic_.c_str(), partition, &low, &high,
                                                     static_cast<int>(cluster_.request_timeout.count()));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR)
    return kafka_error(code, "the end offset of " + topic_ + " cannot be read");
  return high;
}

void KafkaHints::receive(const rd_kafka_message_t& message) {
  if (message.err != RD_KAFKA_RESP_ERR_NO_ERROR) {
    on_problem_(kafka_error(message.err, "reading " + topic_).message);
    return;
  }
  const auto envelope = schemas::decode_hint({static_cast<const char*>(message.payload), message.len});
  if (!envelope) {
    base::log_warn("kafka_hint_skipped", {{"topic", topic_},
                                          {"partition", message.partition},
                                          {"offset", message.offset},
                                          {"reason", schemas::name(envelope.error())}});
    return;
  }
  for (const OnHint& subscriber : subscribers_) subscriber(*envelope);
}

}  // namespace millrace::bus

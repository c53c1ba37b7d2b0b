#include "bus/kafka/kafka_topics.h"

#include <array>
#include <span>
#include <utility>

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
    return kafka_error(code, "the Kafka topics cannot be created");
  }
  std::size_t count = 0;
  const auto* results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto code = rd_kafka_topic_result_error(results[i]);
    const std::string name = rd_kafka_topic_result_name(results[i]);
    if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
      base::log_info("kafka_topic_created", {{"topic", name}});
    } else if (code != RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS) {
      return kafka_error(code, "Kafka topic " + name + " cannot be created");
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
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) return kafka_error(code, "the brokers are not reachable");
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
  if (!event) return kafka_error(RD_KAFKA_RESP_ERR__TIMED_OUT, "the Kafka topics cannot be created");
  return outcome_of(event.get());
}

KafkaMonitor::KafkaMonitor(Options options, Hooks hooks)
    : options_(std::move(options)), hooks_(std::move(hooks)) {}

KafkaMonitor::~KafkaMonitor() { stop(); }

void KafkaMonitor::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void KafkaMonitor::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void KafkaMonitor::broken(std::string reason) {
  record(std::move(reason));
  const std::lock_guard lock(mutex_);
  check_now_ = true;
  wakeup_.notify_all();
}

HealthReport KafkaMonitor::health() const {
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    reason = reason_;
  }
  if (reason.empty()) reason = hooks_.problem();
  const std::string brokers = "Kafka " + options_.cluster.broker_list();
  if (reason.empty()) return {Health::kUp, brokers + " reachable"};
  return {Health::kDegraded, brokers + ": " + reason};
}

void KafkaMonitor::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto outcome = check();
    record(outcome ? std::string() : outcome.error().message);
    std::unique_lock lock(mutex_);
    const auto pause = outcome ? options_.cluster.check_interval : options_.cluster.check_retry_interval;
    wakeup_.wait_for(lock, stop, pause, [this] { return check_now_; });
    check_now_ = false;
  }
}

base::Status KafkaMonitor::check() {
  const auto client = hooks_.client();
  if (client == nullptr) return base::error(base::Code::kUpstream, "the Kafka client is closed");
  std::map<std::string, int> partitions;
  std::vector<NewKafkaTopic> missing;
  const KafkaCluster& cluster = options_.cluster;
  for (const KafkaTopicPlan& topic : options_.topics) {
    const auto count = kafka_partitions(*client, topic.name, cluster.request_timeout);
    if (!count) return count.error();
    partitions[topic.name] = *count;
    if (*count == 0)
      missing.push_back({topic.name, cluster.partitions, cluster.replication, topic.retention});
  }
  if (missing.empty()) {
    hooks_.topics(partitions);
    return {};
  }
  if (auto made = make_kafka_topics(*client, missing, cluster.request_timeout); !made) return made;
  return base::error(base::Code::kUpstream, "topic " + missing.front().name + " is being created");
}

void KafkaMonitor::record(std::string reason) {
  std::string before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(reason_, reason);
  }
  if (before == reason) return;
  const std::string brokers = options_.cluster.broker_list();
  if (reason.empty()) {
    base::log_info("kafka_connected", {{"brokers", brokers}});
  } else {
    const auto level = before.empty() ? base::LogLevel::kWarn : base::LogLevel::kDebug;
    base::log(level, "kafka_degraded", {{"brokers", brokers}, {"reason", reason}});
  }
}

}  // namespace millrace::bus

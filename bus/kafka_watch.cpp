#include "bus/kafka_watch.h"

#include <utility>

#include "bus/kafka_topics.h"
#include "platform/base/log.h"

namespace millrace::bus {

KafkaWatch::KafkaWatch(Options options, Hooks hooks)
    : options_(std::move(options)), hooks_(std::move(hooks)) {}

KafkaWatch::~KafkaWatch() { stop(); }

void KafkaWatch::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void KafkaWatch::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void KafkaWatch::broken(std::string reason) {
  record(std::move(reason));
  const std::lock_guard lock(mutex_);
  look_now_ = true;
  prodded_.notify_all();
}

HealthReport KafkaWatch::health() const {
  std::string reason;
  {
    const std::lock_guard lock(mutex_);
    reason = reason_;
  }
  if (reason.empty()) reason = hooks_.trouble();
  const std::string brokers = "Kafka " + options_.cluster.broker_list();
  if (reason.empty()) return {Health::kUp, brokers + " reachable"};
  return {Health::kDegraded, brokers + ": " + reason};
}

void KafkaWatch::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto outcome = look();
    record(outcome ? std::string() : outcome.error().message);
    std::unique_lock lock(mutex_);
    const auto pause = outcome ? options_.cluster.look_every : options_.cluster.look_again;
    prodded_.wait_for(lock, stop, pause, [this] { return look_now_; });
    look_now_ = false;
  }
}

base::Status KafkaWatch::look() {
  const auto client = hooks_.client();
  if (client == nullptr) return base::error(base::Code::kUpstream, "the client is closed");
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
  return base::error(base::Code::kUpstream, "topic " + missing.front().name + " is being made");
}

void KafkaWatch::record(std::string reason) {
  std::string before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(reason_, reason);
  }
  if (before == reason) return;
  const std::string brokers = options_.cluster.broker_list();
  if (reason.empty()) {
    base::log_info("kafka_up", {{"brokers", brokers}});
  } else {
    const auto level = before.empty() ? base::LogLevel::kWarn : base::LogLevel::kDebug;
    base::log(level, "kafka_degraded", {{"brokers", brokers}, {"reason", reason}});
  }
}

}  // namespace millrace::bus

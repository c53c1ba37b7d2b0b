#include "bus/kafka/kafka_events.h"

#include <atomic>
#include <cstdint>
#include <utility>

#include "bus/kafka/kafka_hints.h"
#include "bus/kafka/kafka_producer.h"
#include "bus/kafka/kafka_topics.h"
#include "platform/base/log.h"
#include "schemas/envelope.h"

namespace millrace::bus {

struct KafkaEvents::Parts {
  explicit Parts(Options given)
      : options(std::move(given)),
        producer({options.cluster, options.queue_max, {options.cluster.events_topic()}},
                 [this](std::string reason) { watch.broken(std::move(reason)); }),
        watch({options.cluster, {{options.cluster.events_topic(), options.retention}}},
              {.client = [this] { return producer.client(); },
               .topics = [this](const auto& partitions) { looked(partitions); },
               .trouble = [this] { return trouble(); }}) {}

  void looked(const std::map<std::string, int>& partitions) {
    if (hints) hints->partitions(partitions.at(options.cluster.events_topic()));
    if (const auto count = lost.exchange(0); count > 0) base::log_warn("hints_lost", {{"count", count}});
  }
  std::string trouble() const {
    return hints && !hints->reading() ? "not reading " + options.cluster.events_topic() + " yet"
                                      : std::string();
  }

  const Options options;
  std::vector<OnHint> subscribers;
  std::atomic<std::size_t> lost{0};  // since the last check
  KafkaProducer producer;
  std::unique_ptr<KafkaHints> hints;  // null without a subscriber; not changed after start
  KafkaWatch watch;
};

KafkaEvents::KafkaEvents(Options options) : parts_(std::make_unique<Parts>(std::move(options))) {}

KafkaEvents::~KafkaEvents() { stop(std::chrono::milliseconds(0)); }

void KafkaEvents::publish(schemas::JobChange hint) {
  const auto delivered = [this](const base::Status& outcome) {
    if (!outcome) parts_->lost.fetch_add(1, std::memory_order_relaxed);
  };
  auto payload = schemas::encode(
      schemas::HintEnvelope{hint.job, std::move(hint.tenant), hint.version, hint.status, hint.waking});
  if (!payload) return delivered(payload.error());
  parts_->producer.produce({parts_->options.cluster.events_topic(), hint.job.str(), std::move(*payload), {}},
                           delivered);
}

void KafkaEvents::subscribe(OnHint on_hint) { parts_->subscribers.push_back(std::move(on_hint)); }

base::Status KafkaEvents::start() {
  if (auto opened = parts_->producer.open(); !opened) return opened;
  if (!parts_->subscribers.empty()) {
    parts_->hints =
        std::make_unique<KafkaHints>(parts_->options.cluster, parts_->subscribers,
                                     [this](std::string why) { parts_->watch.broken(std::move(why)); });
    if (auto opened = parts_->hints->open(); !opened) return opened;
  }
  parts_->watch.start();
  return {};
}

void KafkaEvents::stop(std::chrono::milliseconds deadline) {
  parts_->watch.stop();
  if (parts_->hints) parts_->hints->close();
  parts_->producer.close(deadline);
}

HealthReport KafkaEvents::health() const { return parts_->watch.health(); }

}  // namespace millrace::bus

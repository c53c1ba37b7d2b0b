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

struct KafkaEvents::Impl {
  explicit Impl(Options given)
      : options(std::move(given)),
        producer({options.cluster, options.queue_max, {options.cluster.events_topic()}},
                 [this](std::string reason) { watch.broken(std::move(reason)); }),
        watch({options.cluster, {{options.cluster.events_topic(), options.retention}}},
              {.client = [this] { return producer.client(); },
               .topics = [this](const auto& partitions) { looked(partitions); },
               .problem = [this] { return problem(); }}) {}

  void looked(const std::map<std::string, int>& partitions) {
    if (hints) hints->partitions(partitions.at(options.cluster.events_topic()));
    if (const auto count = lost.exchange(0); count > 0) base::log_warn("hints_lost", {{"count", count}});
  }
  std::string problem() const {
    return hints && !hints->reading() ? "not reading " + options.cluster.events_topic() + " yet"
                                      : std::string();
  }

  const Options options;
  std::vector<OnHint> subscribers;
  std::atomic<std::size_t> lost{0};  // since the last check
  KafkaProducer producer;
  std::unique_ptr<KafkaHints> hints;  // null without a subscriber; not changed after start
  KafkaMonitor watch;
};

KafkaEvents::KafkaEvents(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}

KafkaEvents::~KafkaEvents() { stop(std::chrono::milliseconds(0)); }

void KafkaEvents::publish(schemas::JobChange hint) {
  const auto delivered = [this](const base::Status& outcome) {
    if (!outcome) impl_->lost.fetch_add(1, std::memory_order_relaxed);
  };
  auto payload = schemas::encode(hint);
  if (!payload) return delivered(payload.error());
  impl_->producer.produce({impl_->options.cluster.events_topic(), hint.job.str(), std::move(*payload), {}},
                          delivered);
}

void KafkaEvents::subscribe(OnHint on_hint) { impl_->subscribers.push_back(std::move(on_hint)); }

base::Status KafkaEvents::start() {
  if (auto opened = impl_->producer.open(); !opened) return opened;
  if (!impl_->subscribers.empty()) {
    impl_->hints =
        std::make_unique<KafkaHints>(impl_->options.cluster, impl_->subscribers,
                                     [this](std::string why) { impl_->watch.broken(std::move(why)); });
    if (auto opened = impl_->hints->open(); !opened) return opened;
  }
  impl_->watch.start();
  return {};
}

void KafkaEvents::stop(std::chrono::milliseconds deadline) {
  impl_->watch.stop();
  if (impl_->hints) impl_->hints->close();
  impl_->producer.close(deadline);
}

HealthReport KafkaEvents::health() const { return impl_->watch.health(); }

}  // namespace millrace::bus

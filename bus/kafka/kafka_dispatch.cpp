#include "bus/kafka/kafka_dispatch.h"

#include <map>
#include <mutex>
#include <utility>

#include "bus/kafka/kafka_producer.h"
#include "bus/kafka/kafka_tokens.h"
#include "bus/kafka/kafka_topics.h"
#include "schemas/envelope.h"

namespace millrace::bus {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds left_until(Clock::time_point until) {
  return std::max(std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()),
                  std::chrono::milliseconds(0));
}

std::vector<std::string> topics_of(const KafkaCluster& cluster) {
  std::vector<std::string> topics;
  topics.reserve(schemas::kKinds.size());
  for (const schemas::Kind kind : schemas::kKinds) topics.push_back(cluster.jobs_topic(kind));
  return topics;
}

std::vector<KafkaTopicPlan> plans_of(const KafkaDispatch::Options& options) {
  std::vector<KafkaTopicPlan> plans;
  for (const std::string& topic : topics_of(options.cluster)) plans.push_back({topic, options.retention});
  return plans;
}

}  // namespace

struct KafkaDispatch::Impl {
  explicit Impl(Options given)
      : options(std::move(given)),
        producer({options.cluster, options.queue_max, topics_of(options.cluster)},
                 [this](std::string reason) { watch.broken(std::move(reason)); }),
        watch({options.cluster, plans_of(options)},
              {.client = [this] { return producer.client(); },
               .topics = [this](const auto& /*partitions*/) { start_taking(); },
               .problem = [this] { return problem(); }}) {}

  void start_taking() {
    const std::lock_guard lock(mutex);
    taking = true;
    for (const auto& [kind, line] : tokens) line->start();
  }
  std::string problem() const {
    const std::lock_guard lock(mutex);
    for (const auto& [kind, line] : tokens) {
      if (std::string found = line->problem(); !found.empty()) return found;
    }
    return {};
  }

  // Never removed once created; null: no subscriber.
  KafkaTokens* line_of(schemas::Kind kind) const {
    const std::lock_guard lock(mutex);
    const auto found = tokens.find(kind);
    return found == tokens.end() ? nullptr : found->second.get();
  }

  const Options options;
  mutable std::mutex mutex;  // guards `tokens` and `taking`
  std::map<schemas::Kind, std::unique_ptr<KafkaTokens>> tokens;
  bool taking = false;  // the topics exist
  KafkaProducer producer;
  KafkaMonitor watch;
};

KafkaDispatch::KafkaDispatch(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}

KafkaDispatch::~KafkaDispatch() { stop(std::chrono::milliseconds(0)); }

void KafkaDispatch::publish(Token token, OnDelivered done) {
  auto payload = schemas::encode(schemas::TokenEnvelope{token.job, token.epoch, std::move(token.tenant)});
  if (!payload) return done(payload.error());
  impl_->producer.produce({impl_->options.cluster.jobs_topic(token.job.kind), token.job.str(),
                           std::move(*payload), std::move(token.traceparent)},
                          std::move(done));
}

void KafkaDispatch::subscribe(schemas::Kind kind, std::string worker, OnToken on_token) {
  const Options& options = impl_->options;
  auto line = std::make_unique<KafkaTokens>(
      KafkaTokens::Options{options.cluster, kind, std::move(worker), options.buffered_max, options.watchdog},
      std::move(on_token), [this](std::string reason) { impl_->watch.broken(std::move(reason)); });
  const std::lock_guard lock(impl_->mutex);
  if (impl_->taking) line->start();
  impl_->tokens[kind] = std::move(line);
}

void KafkaDispatch::set_capacity(schemas::Kind kind, std::size_t tokens) {
  if (KafkaTokens* line = impl_->line_of(kind)) line->set_capacity(tokens);
}

void KafkaDispatch::leave(schemas::Kind kind) {
  if (KafkaTokens* line = impl_->line_of(kind)) line->leave();
}

base::Status KafkaDispatch::start() {
  if (auto opened = impl_->producer.open(); !opened) return opened;
  impl_->watch.start();
  return {};
}

void KafkaDispatch::stop(std::chrono::milliseconds deadline) {
  const auto until = Clock::now() + deadline;
  const bool reachable = health().health == Health::kUp;
  impl_->watch.stop();
  for (const schemas::Kind kind : schemas::kKinds) {
    if (KafkaTokens* line = impl_->line_of(kind))
      line->close(reachable ? left_until(until) : std::chrono::milliseconds(0));
  }
  impl_->producer.close(left_until(until));
}

std::int64_t KafkaDispatch::lag(schemas::Kind kind) const {
  const KafkaTokens* line = impl_->line_of(kind);
  return line == nullptr ? 0 : line->lag();
}

std::vector<schemas::PartitionLag> KafkaDispatch::lags(schemas::Kind kind) const {
  const KafkaTokens* line = impl_->line_of(kind);
  return line == nullptr ? std::vector<schemas::PartitionLag>() : line->lags();
}

HealthReport KafkaDispatch::health() const { return impl_->watch.health(); }

}  // namespace millrace::bus

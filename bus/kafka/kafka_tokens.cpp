#include "bus/kafka/kafka_tokens.h"

#include <utility>

#include "bus/kafka/kafka_offsets.h"
#include "platform/base/log.h"
#include "schemas/envelope.h"

namespace millrace::bus {
namespace {

constexpr std::chrono::seconds kReopenPause{1};
constexpr std::chrono::seconds kLagEvery{1};
constexpr std::size_t kTraceparentMax = 256;

std::string traceparent_of(const rd_kafka_message_t& message) {
  rd_kafka_headers_t* headers = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  if (rd_kafka_message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  if (rd_kafka_header_get_last(headers, "traceparent", &value, &size) != RD_KAFKA_RESP_ERR_NO_ERROR)
    return {};
  if (size > kTraceparentMax) return {};
  return {static_cast<const char*>(value), size};
}

std::string_view payload_of(const rd_kafka_message_t& message) {
  return {static_cast<const char*>(message.payload), message.len};
}

}  // namespace

KafkaTokens::KafkaTokens(Options options, Dispatch::OnToken on_token,
                         std::function<void(std::string)> on_problem)
    : options_(std::move(options)),
      topic_(options_.cluster.jobs_topic(options_.kind)),
      on_token_(std::move(on_token)),
      on_problem_(std::move(on_problem)) {}

KafkaTokens::~KafkaTokens() { close(std::chrono::milliseconds(0)); }

void KafkaTokens::start() {
  if (thread_.joinable()) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void KafkaTokens::set_capacity(std::size_t tokens) {
  const std::lock_guard lock(mutex_);
  const bool was_full = std::exchange(capacity_, tokens) == 0;
  if (was_full && tokens > 0 && queue_) client_->wake(queue_.get());
}

void KafkaTokens::leave() {
  const std::lock_guard lock(mutex_);
  leaving_ = true;
  capacity_ = 0;
  if (queue_) client_->wake(queue_.get());
}

void KafkaTokens::close(std::chrono::milliseconds deadline) {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    close_deadline_ = deadline;
    thread_.request_stop();
    if (queue_) client_->wake(queue_.get());
  }
  thread_.join();
}

std::string KafkaTokens::problem() const {
  const auto polled_at = polled_at_.load(std::memory_order_relaxed);
  if (polled_at == 0) return {};
  const auto silent = Clock::now() - Clock::time_point(Clock::duration(polled_at));
  if (silent < options_.watchdog) return {};
  return "the thread that polls " + std::string(schemas::name(options_.kind)) +
         " tokens has been stuck for " +
         std::to_string(std::chrono::duration_cast<std::chrono::seconds>(silent).count()) + " s";
}

void KafkaTokens::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (!open()) {
      std::unique_lock lock(mutex_);
      stopping_.wait_for(lock, stop, kReopenPause, [] { return false; });
      continue;
    }
    while (!stop.stop_requested() && !fatal_) poll_once();
    polled_at_ = 0;
    std::unique_lock lock(mutex_);
    const auto deadline = close_deadline_;
    lock.unlock();
    shut(deadline);
    lock.lock();
    if (fatal_) stopping_.wait_for(lock, stop, kReopenPause, [] { return false; });
  }
}

bool KafkaTokens::open() {
  fatal_ = false;
  KafkaClient::Callbacks callbacks;
  callbacks.on_error = [this](rd_kafka_resp_err_t code, std::string_view reason) { failed(code, reason); };
  callbacks.on_rebalance = [this](rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t& partitions) {
    rebalanced(code, partitions);
  };
  const GroupMember member{options_.cluster.group(options_.kind), options_.worker};
  auto made = KafkaClient::make(RD_KAFKA_CONSUMER, group_consumer_settings(options_.cluster, member),
                                {topic_}, std::move(callbacks));
  if (!made) {
    on_problem_(made.error().message);
    return false;
  }
  rd_kafka_poll_set_consumer((*made)->get());
  left_ = leaving_;
  if (!left_) {
    if (const base::Status subscribed = subscribe((*made)->get()); !subscribed) {
      on_problem_(subscribed.error().message);
      return false;
    }
  }
  const std::lock_guard lock(mutex_);
  client_ = std::move(*made);
  queue_.reset(rd_kafka_queue_get_consumer(client_->get()));
  return true;
}

base::Status KafkaTokens::subscribe(rd_kafka_t* client) const {
  const RdPartitions topics(rd_kafka_topic_partition_list_new(1));
  rd_kafka_topic_partition_list_add(topics.get(), topic_.c_str(), RD_KAFKA_PARTITION_UA);
  const auto code = rd_kafka_subscribe(client, topics.get());
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return kafka_error(code, "cannot subscribe to " + topic_);
}

// Leaves the group explicitly: a member that only stops polling keeps its partitions until its session
// expires.
void KafkaTokens::revoke_partitions() {
  held_.clear();
  if (std::exchange(left_, true)) return;
  if (const auto code = rd_kafka_unsubscribe(client_->get()); code != RD_KAFKA_RESP_ERR_NO_ERROR)
    base::log_warn("kafka_partitions_retained", {{"topic", topic_}, {"reason", rd_kafka_err2str(code)}});
}

void KafkaTokens::shut(std::chrono::milliseconds deadline) {
  held_.clear();
  client_->close_consumer(deadline);
  forget_partitions();
  show_lags({});
  std::shared_ptr<KafkaClient> last;
  const std::lock_guard lock(mutex_);
  queue_.reset();
  last = std::move(client_);
}

void KafkaTokens::poll_once() {
  polled_at_.store(Clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  if (leaving_) revoke_partitions();
  deliver();
  pause_or_resume();
  measure_lag();
  const RdMessage message(rd_kafka_consumer_poll(client_->get(), kPollMs));
  if (!message) return;
  if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    receive(*message);
  } else {
    failed(message->err, rd_kafka_message_errstr(message.get()));
  }
}

void KafkaTokens::receive(const rd_kafka_message_t& message) {
  const auto found = partitions_.find(message.partition);
  if (found == partitions_.end()) return;  // revoked meanwhile
  const auto ticket = found->second->began(message.offset);
  auto envelope = schemas::decode_token(payload_of(message));
  if (!envelope) {
    base::log_warn("kafka_token_skipped", {{"topic", topic_},
                                           {"partition", message.partition},
                                           {"offset", message.offset},
                                           {"reason", schemas::name(envelope.error())}});
    found->second->acknowledged(ticket);
    return;
  }
  Token token{envelope->job, envelope->epoch, std::move(envelope->tenant), traceparent_of(message)};
  held_.push_back({std::move(token), found->second, ticket});
}

void KafkaTokens::deliver() {
  while (!held_.empty() && reserve_capacity()) {
    BufferedToken held = std::move(held_.front());
    held_.pop_front();
    on_token_(std::move(held.token), [partition = std::move(held.partition), ticket = held.ticket] {
      partition->acknowledged(ticket);
    });
  }
}

bool KafkaTokens::reserve_capacity() {
  const std::lock_guard lock(mutex_);
  if (capacity_ == 0) return false;
  --capacity_;
  return true;
}

// Pauses the partitions when enough tokens are held, and resumes them when none is held.
void KafkaTokens::pause_or_resume() {
  const bool pause = paused_ ? !held_.empty() : held_.size() >= options_.buffered_max;
  if (pause == paused_) return;
  rd_kafka_topic_partition_list_t* raw = nullptr;
  if (rd_kafka_assignment(client_->get(), &raw) != RD_KAFKA_RESP_ERR_NO_ERROR) return;
  const RdPartitions assigned(raw);
  const auto move = pause ? rd_kafka_pause_partitions : rd_kafka_resume_partitions;
  if (move(client_->get(), assigned.get()) == RD_KAFKA_RESP_ERR_NO_ERROR) paused_ = pause;
}

// Uses the data of the last fetches; sends no request to a broker.
void KafkaTokens::measure_lag() {
  const auto now = Clock::now();
  if (now < lag_due_) return;
  lag_due_ = now + kLagEvery;
  std::vector<schemas::PartitionLag> lags;
  for (const auto& [number, offsets] : partitions_) {
    std::int64_t low = 0, high = 0;
    const auto code = rd_kafka_get_watermark_offsets(client_->get(), topic_.c_str(), number, &low, &high);
    lags.push_back({number, offsets->lag(code == RD_KAFKA_RESP_ERR_NO_ERROR ? high : 0)});
  }
  show_lags(std::move(lags));
}

void KafkaTokens::show_lags(std::vector<schemas::PartitionLag> lags) {
  std::int64_t sum = 0;
  for (const schemas::PartitionLag& lag : lags) sum += lag.tokens;
  lag_.store(sum, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  lags_ = std::move(lags);
}

std::vector<schemas::PartitionLag> KafkaTokens::lags() const {
  const std::lock_guard lock(mutex_);
  return lags_;
}

void KafkaTokens::rebalanced(rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t& partitions) {
  rd_kafka_t* client = client_->get();
  if (code != RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
    rd_kafka_assign(client, nullptr);  // commits the stored offsets
    forget_partitions();
    return;
  }
  forget_partitions();
  for (int i = 0; i < partitions.cnt; ++i) {
    const std::int32_t partition = partitions.elems[i].partition;
    partitions_[partition] = std::make_shared<PartitionOffsets>(client_->topic(topic_), partition);
  }
  rd_kafka_assign(client, &partitions);
  if (paused_) rd_kafka_resume_partitions(client, &partitions);
  paused_ = false;
  base::log_info("kafka_partitions_assigned", {{"topic", topic_}, {"partitions", partitions.cnt}});
}

void KafkaTokens::forget_partitions() {
  held_.clear();
  for (const auto& [number, offsets] : partitions_) offsets->close();
  partitions_.clear();
}

void KafkaTokens::failed(rd_kafka_resp_err_t code, std::string_view reason) {
  if (code == RD_KAFKA_RESP_ERR__FATAL) {
    fatal_ = true;
    base::log_error("kafka_consumer_fatal", {{"topic", topic_}, {"reason", reason}});
  }
  const bool topic_lost =
      code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART || code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
      code == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION || code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
  if (fatal_ || topic_lost) on_problem_(std::string(reason));
}

}  // namespace millrace::bus

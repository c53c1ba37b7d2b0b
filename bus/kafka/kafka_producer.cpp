#include "bus/kafka/kafka_producer.h"

#include <array>
#include <utility>

#include "bus/kafka/kafka_settings.h"
#include "platform/base/log.h"

namespace millrace::bus {
namespace {

constexpr int kDrainSliceMs = 50;
constexpr std::chrono::seconds kDrainMax{2};  // reports of purged messages arrive at once

// librdkafka carries a pointer of ours unread; it holds a number.
// NOLINTNEXTLINE(performance-no-int-to-ptr)
void* opaque_of(std::uint64_t ticket) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(ticket)); }
std::uint64_t ticket_of(const void* opaque) { return reinterpret_cast<std::uintptr_t>(opaque); }

base::Status status_of(rd_kafka_resp_err_t code) {
  if (code == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return kafka_error(code, "Kafka did not accept the message");
}

bool is_unreachable(rd_kafka_resp_err_t code) {
  return code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN || code == RD_KAFKA_RESP_ERR__RESOLVE;
}

}  // namespace

KafkaProducer::KafkaProducer(Options options, OnProblem on_problem)
    : options_(std::move(options)), on_problem_(std::move(on_problem)) {}

KafkaProducer::~KafkaProducer() { close(std::chrono::milliseconds(0)); }

base::Result<std::shared_ptr<KafkaClient>> KafkaProducer::make_client() {
  KafkaClient::Callbacks callbacks;
  callbacks.on_delivery = [this](const rd_kafka_message_t& message) {
    delivered(ticket_of(message._private), message.err);
  };
  callbacks.on_error = [this](rd_kafka_resp_err_t code, std::string_view reason) {
    if (code == RD_KAFKA_RESP_ERR__FATAL) fatal_ = true;
    if (code == RD_KAFKA_RESP_ERR__FATAL || is_unreachable(code)) on_problem_(std::string(reason));
  };
  return KafkaClient::make(RD_KAFKA_PRODUCER, producer_settings(options_.cluster, options_.queue_max),
                           options_.topics, std::move(callbacks));
}

base::Status KafkaProducer::open() {
  auto made = make_client();
  if (!made) return made.error();
  const std::lock_guard lock(mutex_);
  client_ = std::move(*made);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return {};
}

std::shared_ptr<KafkaClient> KafkaProducer::client() const {
  const std::lock_guard lock(mutex_);
  return client_;
}

void KafkaProducer::produce(const KafkaRecord& record, Done done) {
  base::Status refused;
  {
    const std::lock_guard lock(mutex_);
    if (client_ == nullptr || closing_) {
      refused = base::error(base::Code::kOverloaded, "the Kafka producer is not running");
    } else {
      const std::uint64_t ticket = next_ticket_++;
      const auto code = enqueue(record, ticket);
      if (code == RD_KAFKA_RESP_ERR_NO_ERROR) {
        under_way_.emplace(ticket, std::move(done));
        return;
      }
      refused = status_of(code);
    }
  }
  done(std::move(refused));
}

rd_kafka_resp_err_t KafkaProducer::enqueue(const KafkaRecord& record, std::uint64_t ticket) {
  const auto bytes = [](const std::string& text) {
    return decltype(rd_kafka_vu_t{}.u.mem){.ptr = const_cast<char*>(text.data()), .size = text.size()};
  };
  std::array<rd_kafka_vu_t, 6> parts{};
  std::size_t count = 0;
  parts[count++] = {.vtype = RD_KAFKA_VTYPE_RKT, .u = {.rkt = client_->topic(record.topic)}};
  parts[count++] = {.vtype = RD_KAFKA_VTYPE_KEY, .u = {.mem = bytes(record.key)}};
  parts[count++] = {.vtype = RD_KAFKA_VTYPE_VALUE, .u = {.mem = bytes(record.payload)}};
  parts[count++] = {.vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u = {.i = RD_KAFKA_MSG_F_COPY}};
  parts[count++] = {.vtype = RD_KAFKA_VTYPE_OPAQUE, .u = {.ptr = opaque_of(ticket)}};
  // We allocate the headers: librdkafka 2.0.2 frees headers that it allocated twice when it refuses the
  // message.
  RdHeaders headers;
  if (!record.traceparent.empty()) {
    headers.reset(rd_kafka_headers_new(1));
    rd_kafka_header_add(headers.get(), "traceparent", -1, record.traceparent.data(),
                        static_cast<ssize_t>(record.traceparent.size()));
    parts[count++] = {.vtype = RD_KAFKA_VTYPE_HEADERS, .u = {.headers = headers.get()}};
  }
  const RdError refused(rd_kafka_produceva(client_->get(), parts.data(), count));
  if (!refused) static_cast<void>(headers.release());  // taken over by the message
  return refused ? rd_kafka_error_code(refused.get()) : RD_KAFKA_RESP_ERR_NO_ERROR;
}

void KafkaProducer::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto client = this->client();
    rd_kafka_poll(client->get(), kPollMs);
    if (fatal_.exchange(false)) replace_client();
  }
  drain(*client(), UINT64_MAX);
}

void KafkaProducer::replace_client() {
  auto made = make_client();
  if (!made) {
    base::log_error("kafka_producer_replace_failed", {{"reason", made.error().message}});
    fatal_ = true;  // retry after the next poll
    return;
  }
  std::shared_ptr<KafkaClient> old;
  std::uint64_t first_fresh = 0;
  {
    const std::lock_guard lock(mutex_);
    old = std::exchange(client_, std::move(*made));
    first_fresh = next_ticket_;
  }
  base::log_warn("kafka_producer_replaced", {{"brokers", options_.cluster.broker_list()}});
  drain(*old, first_fresh);
}

void KafkaProducer::drain(KafkaClient& client, std::uint64_t before) {
  rd_kafka_purge(client.get(),
                 RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
  const auto until = std::chrono::steady_clock::now() + kDrainMax;
  while (rd_kafka_outq_len(client.get()) > 0 && std::chrono::steady_clock::now() < until) {
    rd_kafka_poll(client.get(), kDrainSliceMs);
  }
  give_up(before);
}

void KafkaProducer::delivered(std::uint64_t ticket, rd_kafka_resp_err_t code) {
  Done done;
  {
    const std::lock_guard lock(mutex_);
    const auto found = under_way_.find(ticket);
    if (found == under_way_.end()) return;
    done = std::move(found->second);
    under_way_.erase(found);
    if (under_way_.empty()) idle_.notify_all();
  }
  done(status_of(code));
}

void KafkaProducer::give_up(std::uint64_t before) {
  std::vector<Done> left;
  {
    const std::lock_guard lock(mutex_);
    const auto end = under_way_.lower_bound(before);
    for (auto it = under_way_.begin(); it != end; ++it) left.push_back(std::move(it->second));
    under_way_.erase(under_way_.begin(), end);
    if (under_way_.empty()) idle_.notify_all();
  }
  for (const Done& done : left) done(status_of(RD_KAFKA_RESP_ERR__PURGE_INFLIGHT));
}

void KafkaProducer::close(std::chrono::milliseconds deadline) {
  std::shared_ptr<KafkaClient> last;
  {
    std::unique_lock lock(mutex_);
    closing_ = true;
    if (client_ == nullptr) return;
    idle_.wait_for(lock, deadline, [this] { return under_way_.empty(); });
    last = client_;
  }
  thread_.request_stop();
  const RdQueue queue(rd_kafka_queue_get_main(last->get()));
  last->wake(queue.get());
  thread_.join();
  const std::lock_guard lock(mutex_);
  client_.reset();
}

}  // namespace millrace::bus

#include "bus/kafka/kafka_client.h"

#include <array>
#include <chrono>
#include <future>
#include <thread>

#include "platform/base/log.h"

namespace millrace::bus {
namespace {

constexpr int kSyslogError = 3;
constexpr int kSyslogNotice = 5;
using RdConf = std::unique_ptr<rd_kafka_conf_t, RdFree<rd_kafka_conf_destroy>>;

base::LogLevel level_of(int syslog_level) {
  if (syslog_level <= kSyslogError) return base::LogLevel::kWarn;  // librdkafka retries failed operations
  return syslog_level <= kSyslogNotice ? base::LogLevel::kInfo : base::LogLevel::kDebug;
}

// Longer than librdkafka may wait for a lost coordinator (session.timeout.ms).
constexpr std::chrono::seconds kDestroyMax{7};

void on_log(const rd_kafka_t* /*client*/, int level, const char* facility, const char* text) {
  base::log(level_of(level), "kafka_client", {{"facility", facility}, {"text", text}});
}

base::Result<RdConf> conf_of(const KafkaSettings& settings) {
  RdConf conf(rd_kafka_conf_new());
  std::array<char, 512> reason{};
  for (const auto& [key, value] : settings) {
    if (rd_kafka_conf_set(conf.get(), key.c_str(), value.c_str(), reason.data(), reason.size()) !=
        RD_KAFKA_CONF_OK) {
      return base::error(base::Code::kInvalidField,
                         std::string("Kafka setting ") + key + ": " + reason.data(), key);
    }
  }
  return conf;
}

// librdkafka 2.0 may lose the reference of a broker thread when a topic is deleted, and then waits for that
// thread forever (its issues 3954 and 4362). Such an instance stays until the process ends.
void destroy(rd_kafka_t* handle, int flags) {
  std::packaged_task<void()> task([handle, flags] { rd_kafka_destroy_flags(handle, flags); });
  const auto ended = task.get_future();
  std::thread thread(std::move(task));
  if (ended.wait_for(kDestroyMax) == std::future_status::ready) return thread.join();
  base::log_warn("kafka_client_abandoned", {{"waited_s", kDestroyMax.count()}});
  thread.detach();
}

}  // namespace

base::Error kafka_error(rd_kafka_resp_err_t code, std::string_view what) {
  base::Code ours = base::Code::kUpstream;
  if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL) ours = base::Code::kOverloaded;
  if (code == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT || code == RD_KAFKA_RESP_ERR__TIMED_OUT) {
    ours = base::Code::kUpstreamTimeout;
  }
  return base::error(ours, std::string(what) + ": " + rd_kafka_err2str(code));
}

void KafkaClient::install(rd_kafka_conf_t* conf, KafkaClient* self) {
  rd_kafka_conf_set_opaque(conf, self);
  rd_kafka_conf_set_log_cb(conf, on_log);
  rd_kafka_conf_set_error_cb(conf, [](rd_kafka_t*, int code, const char* reason, void* opaque) {
    const auto& callbacks = static_cast<KafkaClient*>(opaque)->callbacks_;
    if (callbacks.on_error) callbacks.on_error(static_cast<rd_kafka_resp_err_t>(code), reason);
  });
  if (self->callbacks_.on_delivery) {
    rd_kafka_conf_set_dr_msg_cb(conf, [](rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
      static_cast<KafkaClient*>(opaque)->callbacks_.on_delivery(*message);
    });
  }
  if (self->callbacks_.on_rebalance) {
    rd_kafka_conf_set_rebalance_cb(
        conf, [](rd_kafka_t*, rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t* parts,
                 void* opaque) { static_cast<KafkaClient*>(opaque)->callbacks_.on_rebalance(code, *parts); });
  }
}

base::Result<std::shared_ptr<KafkaClient>> KafkaClient::make(rd_kafka_type_t type,
                                                             const KafkaSettings& settings,
                                                             const std::vector<std::string>& topics,
                                                             Callbacks callbacks) {
  auto conf = conf_of(settings);
  if (!conf) return conf.error();
  std::shared_ptr<KafkaClient> client(new KafkaClient(std::move(callbacks)));
  install(conf->get(), client.get());
  std::array<char, 512> reason{};
  client->handle_ = rd_kafka_new(type, conf->get(), reason.data(), reason.size());
  if (client->handle_ == nullptr) {
    return base::error(base::Code::kInvalidField, std::string("Kafka client: ") + reason.data());
  }
  static_cast<void>(conf->release());  // rd_kafka_new has taken ownership
  for (const std::string& name : topics) {
    client->topics_.emplace_back(name, RdTopic(rd_kafka_topic_new(client->handle_, name.c_str(), nullptr)));
  }
  return client;
}

KafkaClient::~KafkaClient() {
  if (handle_ == nullptr) return;
  topics_.clear();
  destroy(handle_, destroy_flags_);
}

rd_kafka_topic_t* KafkaClient::topic(std::string_view name) const {
  for (const auto& [known, handle] : topics_) {
    if (known == name) return handle.get();
  }
  return nullptr;
}

void KafkaClient::close_consumer(std::chrono::milliseconds deadline) {
  constexpr int kSliceMs = 100;
  destroy_flags_ = RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE;
  if (deadline <= std::chrono::milliseconds(0)) return;
  const auto until = std::chrono::steady_clock::now() + deadline;
  const RdQueue queue(rd_kafka_queue_new(handle_));
  const RdError refused(rd_kafka_consumer_close_queue(handle_, queue.get()));
  // Not rd_kafka_queue_poll_callback: it aborts the process if a message has arrived in the meantime.
  while (!refused && rd_kafka_consumer_closed(handle_) == 0 && std::chrono::steady_clock::now() < until) {
    const RdMessage unwanted(rd_kafka_consume_queue(queue.get(), kSliceMs));
  }
}

}  // namespace millrace::bus

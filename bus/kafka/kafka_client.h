#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <librdkafka/rdkafka.h>

#include "platform/base/result.h"

// Owners of librdkafka's C handles. Only bus/kafka_*.cpp and the headers that they keep to themselves include
// this.
namespace millrace::bus {

template <auto kFree>
struct RdFree {
  template <class T>
  void operator()(T* handle) const {
    kFree(handle);
  }
};
using RdTopic = std::unique_ptr<rd_kafka_topic_t, RdFree<rd_kafka_topic_destroy>>;
using RdQueue = std::unique_ptr<rd_kafka_queue_t, RdFree<rd_kafka_queue_destroy>>;
using RdMessage = std::unique_ptr<rd_kafka_message_t, RdFree<rd_kafka_message_destroy>>;
using RdPartitions =
    std::unique_ptr<rd_kafka_topic_partition_list_t, RdFree<rd_kafka_topic_partition_list_destroy>>;
using RdError = std::unique_ptr<rd_kafka_error_t, RdFree<rd_kafka_error_destroy>>;
using RdHeaders = std::unique_ptr<rd_kafka_headers_t, RdFree<rd_kafka_headers_destroy>>;

inline constexpr int kPollMs =
    1000;  // of one call that waits; between two, a thread looks whether it is to end

// Names of settings and their values, as librdkafka's CONFIGURATION.md has them.
using KafkaSettings = std::vector<std::pair<std::string, std::string>>;

// "what: librdkafka's text". kOverloaded when the local queue is full, kUpstreamTimeout when time ran out,
// else kUpstream.
base::Error kafka_error(rd_kafka_resp_err_t code, std::string_view what);

// One librdkafka instance with the topics that it works on. Callbacks run on the thread that polls it; log
// lines go to base::log from librdkafka's own threads. Destroying it blocks until those have ended
// (milliseconds); where they do not within seven seconds, they are left behind with a warning.
class KafkaClient {
 public:
  struct Callbacks {
    std::function<void(rd_kafka_resp_err_t, std::string_view reason)> on_error;
    std::function<void(const rd_kafka_message_t&)> on_delivery;
    std::function<void(rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t&)> on_rebalance;
  };

  // An error names the setting that librdkafka refuses. It connects in the background: no broker needs to be
  // there.
  static base::Result<std::shared_ptr<KafkaClient>> make(rd_kafka_type_t type, const KafkaSettings& settings,
                                                         const std::vector<std::string>& topics,
                                                         Callbacks callbacks);
  ~KafkaClient();
  KafkaClient(const KafkaClient&) = delete;
  KafkaClient& operator=(const KafkaClient&) = delete;

  rd_kafka_t* get() const { return handle_; }
  // One of those that `make` was given; null for any other.
  rd_kafka_topic_t* topic(std::string_view name) const;
  // Makes the thread that polls `queue` return at once.
  void wake(rd_kafka_queue_t* queue) const { rd_kafka_queue_yield(queue); }
  // Consumers: leave, committing stored offsets, or give up at the deadline; with none, only what is under
  // way is waited for (up to session.timeout.ms, when the group's coordinator has been lost).
  void close_consumer(std::chrono::milliseconds deadline);

 private:
  explicit KafkaClient(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}
  static void install(rd_kafka_conf_t* conf, KafkaClient* self);

  Callbacks callbacks_;
  rd_kafka_t* handle_ = nullptr;
  std::vector<std::pair<std::string, RdTopic>> topics_;
  int destroy_flags_ = 0;
};

}  // namespace millrace::bus

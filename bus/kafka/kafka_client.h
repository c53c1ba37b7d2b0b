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

// RAII owners of librdkafka's C handles. Only bus/kafka/*.cpp and their private headers include this.
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
    1000;  // time-out of one poll; between two polls a thread checks whether it should stop

// Names and values of settings, as in librdkafka's CONFIGURATION.md.
using KafkaSettings = std::vector<std::pair<std::string, std::string>>;

// The message is "what: librdkafka's text". kOverloaded: the local queue is full. kUpstreamTimeout: a
// time-out passed. kUpstream: any other error.
base::Error kafka_error(rd_kafka_resp_err_t code, std::string_view what);

// One librdkafka instance with its topics. Callbacks run on the thread that polls it. Log lines go to
// base::log from librdkafka's threads. The destructor blocks until those threads have ended (milliseconds).
// If they have not ended within seven seconds, it logs a warning and leaves them running.
class KafkaClient {
 public:
  struct Callbacks {
    std::function<void(rd_kafka_resp_err_t, std::string_view reason)> on_error;
    std::function<void(const rd_kafka_message_t&)> on_delivery;
    std::function<void(rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t&)> on_rebalance;
  };

  // It connects in the background and succeeds without a reachable broker. An error names the setting that
  // librdkafka refuses.
  static base::Result<std::shared_ptr<KafkaClient>> make(rd_kafka_type_t type, const KafkaSettings& settings,
                                                         const std::vector<std::string>& topics,
                                                         Callbacks callbacks);
  ~KafkaClient();
  KafkaClient(const KafkaClient&) = delete;
  KafkaClient& operator=(const KafkaClient&) = delete;

  rd_kafka_t* get() const { return handle_; }
  // A topic that was passed to `make`; null for any other name.
  rd_kafka_topic_t* topic(std::string_view name) const;
  // Makes the thread that polls `queue` return at once.
  void wake(rd_kafka_queue_t* queue) const { rd_kafka_queue_yield(queue); }
  // For consumers: leaves the group and commits stored offsets, or gives up at the deadline. Without a
  // deadline it waits only for operations in progress (up to session.timeout.ms if the group's coordinator
  // has been lost).
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

#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bus/kafka/kafka_client.h"
#include "bus/kafka/kafka_settings.h"
#include "platform/base/result.h"

namespace millrace::bus {

struct KafkaRecord {
  std::string topic;  // one of the producer's topics
  std::string key;
  std::string payload;
  std::string traceparent;  // empty: no header
};

// The idempotent producer with the thread that handles its delivery reports. After a fatal error it replaces
// its librdkafka instance; messages in flight are given up. Thread-safe.
class KafkaProducer {
 public:
  using Done = std::function<void(base::Status)>;
  using OnProblem = std::function<void(std::string reason)>;
  struct Options {
    KafkaCluster cluster;
    std::size_t queue_max = 10'000;  // messages queued for the broker; more are refused
    std::vector<std::string> topics;
  };

  // `on_problem` is called on the producer's thread when brokers are unreachable and on fatal errors.
  KafkaProducer(Options options, OnProblem on_problem);
  ~KafkaProducer();  // close(0)
  KafkaProducer(const KafkaProducer&) = delete;
  KafkaProducer& operator=(const KafkaProducer&) = delete;

  // Fails only if librdkafka refuses a setting.
  base::Status open();
  // Never blocks. `done` is called exactly once: immediately on this thread if the record is refused,
  // otherwise on the producer's thread within message_timeout.
  void produce(const KafkaRecord& record, Done done);
  // Refuses new records, waits for records in flight until the deadline, then gives up the rest. Idempotent.
  void close(std::chrono::milliseconds deadline);
  // The current instance; null before `open` and after `close`. A caller may keep it for one request.
  std::shared_ptr<KafkaClient> client() const;

 private:
  base::Result<std::shared_ptr<KafkaClient>> make_client();
  rd_kafka_resp_err_t enqueue(const KafkaRecord& record, std::uint64_t ticket);
  void run(const std::stop_token& stop);
  void replace_client();
  void drain(KafkaClient& client, std::uint64_t before);
  void delivered(std::uint64_t ticket, rd_kafka_resp_err_t code);
  void give_up(std::uint64_t before);

  const Options options_;
  const OnProblem on_problem_;
  std::atomic<bool> fatal_{false};
  mutable std::mutex mutex_;  // held for microseconds, never during a callback
  std::condition_variable idle_;
  std::shared_ptr<KafkaClient> client_;
  bool closing_ = false;
  std::uint64_t next_ticket_ = 1;
  std::map<std::uint64_t, Done> under_way_;  // by ticket, which is the message's opaque value
  std::jthread thread_;
};

}  // namespace millrace::bus

#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bus/bus.h"
#include "bus/kafka/kafka_client.h"
#include "bus/kafka/kafka_settings.h"

namespace millrace::bus {

class PartitionOffsets;

// Consumes the tokens of one kind: a member of the kind's consumer group with the thread that polls it. While
// the subscriber has capacity, tokens are passed to it. Without capacity, tokens are held here up to a limit;
// then the partitions are paused, while polling continues. A token's offset is stored when this token and all
// earlier ones of its partition are decided. Thread-safe.
class KafkaTokens {
 public:
  struct Options {
    KafkaCluster cluster;
    schemas::Kind kind = schemas::Kind::kOcr;
    std::string worker;
    // Tokens held here for capacity before the partitions are paused. It is well above the outbox publisher's
    // window, because librdkafka takes up to a second to fetch from resumed partitions.
    std::size_t buffered_max = 1024;
    std::chrono::seconds watchdog{10};  // limit of one iteration of the poll thread
  };

  // `on_problem` is called on the poll thread for lost topics and fatal errors.
  KafkaTokens(Options options, Dispatch::OnToken on_token, std::function<void(std::string)> on_problem);
  ~KafkaTokens();  // close(0)
  KafkaTokens(const KafkaTokens&) = delete;
  KafkaTokens& operator=(const KafkaTokens&) = delete;

  void start();  // called once the topic exists; further calls do nothing
  void set_capacity(std::size_t tokens);
  // Takes no more tokens, commits the decided offsets, and gives its partitions to the group's other members.
  // The poll thread does this in its next iteration; it runs until `close`.
  void leave();
  // Passes on no more tokens. Leaves the group with the decided offsets committed, if the broker responds in
  // time.
  void close(std::chrono::milliseconds deadline);
  // Undecided tokens of the assigned partitions, updated every second.
  std::int64_t lag() const { return lag_.load(std::memory_order_relaxed); }
  std::vector<schemas::PartitionLag> lags() const;  // the same, by partition
  std::string problem() const;                      // a problem found by the watchdog; empty: none

 private:
  using Clock = std::chrono::steady_clock;
  struct BufferedToken {
    Token token;
    std::shared_ptr<PartitionOffsets> partition;
    std::uint64_t ticket;
  };

  void run(const std::stop_token& stop);
  bool open();
  base::Status subscribe(rd_kafka_t* client) const;
  void revoke_partitions();
  void shut(std::chrono::milliseconds deadline);
  void poll_once();
  void receive(const rd_kafka_message_t& message);
  void deliver();
  bool reserve_capacity();
  void pause_or_resume();
  void measure_lag();
  void show_lags(std::vector<schemas::PartitionLag> lags);
  void rebalanced(rd_kafka_resp_err_t code, rd_kafka_topic_partition_list_t& partitions);
  void forget_partitions();
  void failed(rd_kafka_resp_err_t code, std::string_view reason);

  const Options options_;
  const std::string topic_;
  const Dispatch::OnToken on_token_;
  const std::function<void(std::string)> on_problem_;

  // Used by the poll thread only.
  std::deque<BufferedToken> held_;
  std::map<std::int32_t, std::shared_ptr<PartitionOffsets>> partitions_;
  Clock::time_point lag_due_{};
  bool paused_ = false;
  bool fatal_ = false;
  bool left_ = false;  // has left the group

  std::atomic<std::int64_t> lag_{0};
  std::atomic<Clock::rep> polled_at_{0};  // 0: not running
  std::atomic<bool> leaving_{false};
  mutable std::mutex mutex_;
  std::condition_variable_any stopping_;
  std::size_t capacity_ = 0;
  std::chrono::milliseconds close_deadline_{0};
  std::vector<schemas::PartitionLag> lags_;
  std::shared_ptr<KafkaClient> client_;
  RdQueue queue_;  // the client's consumer queue, to wake the poll thread
  std::jthread thread_;
};

}  // namespace millrace::bus

#pragma once
#include <cstdint>
#include <mutex>

#include "bus/kafka_client.h"
#include "bus/offset_ledger.h"

namespace millrace::bus {

// One partition while it is assigned to this consumer: keeps the order of decisions and stores the offset.
// Outlives the assignment in the `taken` callbacks of tokens that are still undecided, which then do nothing.
// Thread-safe.
class PartitionOffsets {
 public:
  // `topic` must stay valid until `close`.
  PartitionOffsets(rd_kafka_topic_t* topic, std::int32_t partition) : topic_(topic), partition_(partition) {}

  OffsetLedger::Ticket began(std::int64_t offset) {
    const std::lock_guard lock(mutex_);
    return ledger_.began(offset);
  }

  void decided(OffsetLedger::Ticket ticket) {
    const std::lock_guard lock(mutex_);
    if (topic_ == nullptr) return;
    const auto next = ledger_.decided(ticket);
    // librdkafka 2.0 takes the last processed offset and adds one. An error means that the partition was
    // revoked.
    if (next) static_cast<void>(rd_kafka_offset_store(topic_, partition_, *next - 1));
  }

  // As OffsetLedger::lag.
  std::int64_t lag(std::int64_t high) {
    const std::lock_guard lock(mutex_);
    return ledger_.lag(high);
  }

  void close() {
    const std::lock_guard lock(mutex_);
    topic_ = nullptr;
  }

 private:
  std::mutex mutex_;
  rd_kafka_topic_t* topic_;
  const std::int32_t partition_;
  OffsetLedger ledger_;
};

}  // namespace millrace::bus

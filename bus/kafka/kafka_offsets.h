#pragma once
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "bus/kafka/kafka_client.h"

namespace millrace::bus {

// Computes which offset of one partition may be stored. Tokens are decided in any order, but the stored
// offset never passes an undecided token, so that token is delivered again after a restart. Pure; not
// thread-safe.
class OffsetLedger {
 public:
  using Ticket = std::uint64_t;

  // Records a message taken from the partition. Offsets increase. If one does not, the topic has been
  // recreated, and all open entries are dropped.
  Ticket began(std::int64_t offset);
  // Records that a message is decided. Returns the offset to store (that of the next message to read) if it
  // has advanced. A ticket that was dropped or is already decided changes nothing.
  std::optional<std::int64_t> acknowledged(Ticket ticket);

  // The number of offsets from the oldest undecided one up to `high`, the offset after the newest message; 0
  // before the first message was taken.
  std::int64_t lag(std::int64_t high) const;
  std::size_t open() const { return entries_.size(); }  // starting at the oldest undecided one

 private:
  struct Entry {
    std::int64_t offset;
    bool acknowledged;
  };
  std::deque<Entry> entries_;
  Ticket first_ = 0;  // of entries_.front()
  std::int64_t newest_ = -1;
};

// One partition while it is assigned to this consumer: tracks the decisions and stores the offset. The
// `taken` callbacks of undecided tokens keep it alive after the assignment has ended; they do nothing then.
// Thread-safe.
class PartitionOffsets {
 public:
  // `topic` must stay valid until `close`.
  PartitionOffsets(rd_kafka_topic_t* topic, std::int32_t partition) : topic_(topic), partition_(partition) {}

  OffsetLedger::Ticket began(std::int64_t offset) {
    const std::lock_guard lock(mutex_);
    return ledger_.began(offset);
  }

  void acknowledged(OffsetLedger::Ticket ticket) {
    const std::lock_guard lock(mutex_);
    if (topic_ == nullptr) return;
    const auto next = ledger_.acknowledged(ticket);
    // librdkafka 2.0 expects the last processed offset and adds one. An error means that the partition was
    // revoked.
    if (next) static_cast<void>(rd_kafka_offset_store(topic_, partition_, *next - 1));
  }

  // See OffsetLedger::lag.
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

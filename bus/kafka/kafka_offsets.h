#pragma once
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "bus/kafka/kafka_client.h"

namespace millrace::bus {

// Which offset of one partition may be stored. Tokens are decided in any order, but the stored offset never
// passes one that is still undecided: after a restart that one is delivered again. Pure; not thread-safe.
class OffsetLedger {
 public:
  using Ticket = std::uint64_t;

  // A message was taken from the partition. Offsets rise; one that does not means that the topic was made
  // anew, and what was open before it is forgotten.
  Ticket began(std::int64_t offset);
  // The message is decided. Gives the offset to store (that of the next message to read) if it moved on; a
  // ticket that is forgotten or already decided changes nothing.
  std::optional<std::int64_t> decided(Ticket ticket);

  // Offsets from the oldest undecided one up to `high`, the one behind the newest message; 0 before a message
  // was taken.
  std::int64_t lag(std::int64_t high) const;
  std::size_t open() const { return entries_.size(); }  // from the oldest undecided one on

 private:
  struct Entry {
    std::int64_t offset;
    bool decided;
  };
  std::deque<Entry> entries_;
  Ticket first_ = 0;  // of entries_.front()
  std::int64_t newest_ = -1;
};

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

#include "bus/kafka/kafka_offsets.h"

#include <algorithm>

namespace millrace::bus {

OffsetLedger::Ticket OffsetLedger::began(std::int64_t offset) {
  if (offset <= newest_) {
    first_ += entries_.size();
    entries_.clear();
  }
  newest_ = offset;
  entries_.push_back({offset, false});
  return first_ + entries_.size() - 1;
}

std::optional<std::int64_t> OffsetLedger::acknowledged(Ticket ticket) {
  if (ticket < first_ || ticket - first_ >= entries_.size()) return std::nullopt;
  entries_[ticket - first_].acknowledged = true;
  std::optional<std::int64_t> next;
  while (!entries_.empty() && entries_.front().acknowledged) {
    next = entries_.front().offset + 1;
    entries_.pop_front();
    ++first_;
  }
  return next;
}

std::int64_t OffsetLedger::lag(std::int64_t high) const {
  if (newest_ < 0) return 0;
  const std::int64_t behind_newest = newest_ + 1;
  const std::int64_t next = entries_.empty() ? behind_newest : entries_.front().offset;
  return std::max(high, behind_newest) - next;
}

}  // namespace millrace::bus

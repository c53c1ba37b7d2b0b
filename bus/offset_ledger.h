#pragma once
#include <cstdint>
#include <deque>
#include <optional>

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

}  // namespace millrace::bus

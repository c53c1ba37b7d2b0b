#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "platform/net/socket_set.h"

namespace millrace::net {

class PlainConnection;

// What the connections of a loop share: who of them is ready, and what they read into. So one that waits
// costs no more than itself. In the loop's turn only; for this room's sources.
class PlainSockets {
 public:
  static constexpr std::size_t kReadBytes = 32u << 10;  // at a time

  explicit PlainSockets(Loop::Impl& impl)
      : ready_(impl, [this](int fd, bool readable, bool writable) { return tell(fd, readable, writable); }) {}

  // As SocketSet's; `of` is told, until `forget` or both are false.
  void watch(int fd, PlainConnection& of, bool read, bool write);
  void forget(int fd);  // before it is closed
  void close() { ready_.close(); }
  SocketSet& ready() { return ready_; }
  // Whoever reads next overwrites it.
  std::array<char, kReadBytes>& scratch() { return scratch_; }

 private:
  bool tell(int fd, bool readable, bool writable);

  SocketSet ready_;
  std::vector<PlainConnection*> connections_;  // by fd
  std::array<char, kReadBytes> scratch_;
};

}  // namespace millrace::net

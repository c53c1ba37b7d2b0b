#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include <asio/posix/stream_descriptor.hpp>

#include "platform/net/loop_impl.h"

namespace millrace::net {

// Sockets that others own, and which of them are ready: a set of the kernel's of its own, of which the loop
// hears once for all that is ready in it. In the loop's turn only; for this room's sources.
class SocketSet {
 public:
  // `ready` is told of a socket that can be read, written, or both; again, as long as it can. False: it has
  // left something that can be taken at once.
  using Ready = std::function<bool(int fd, bool readable, bool writable)>;
  SocketSet(Loop::Impl& impl, Ready ready);

  void watch(int fd, bool read, bool write);  // both false: as forget
  void forget(int fd);                        // before it is closed
  void close();                               // nothing is told any more

  // Whether another thread waits for `fd`, edge by edge, and has `come_up` called in the loop's turn.
  void let_others_wait(bool others);
  void wake_up();  // tells of all that is ready
  int fd() const { return fd_; }

 private:
  bool resume_all_ready();
  void wait();
  void come_up_later();

  Loop::Impl& impl_;
  Ready ready_;
  int fd_;                              // -1: closed
  asio::posix::stream_descriptor set_;  // has `fd_` unless others wait
  bool others_wait_ = false;
  std::unordered_map<int, std::uint32_t> watched_;  // fd → which of the sockets that have had its number
  std::uint32_t last_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace millrace::net

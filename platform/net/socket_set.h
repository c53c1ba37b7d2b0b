#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>

#include <asio/posix/stream_descriptor.hpp>

#include "platform/net/loop_impl.h"

namespace millrace::net {

// Reports which of a set of sockets are ready. The sockets belong to others. Uses a separate epoll instance,
// so the loop gets one event for all sockets that are ready. Call only while the run lock is held; for the
// sources of this module.
class SocketSet {
 public:
  // `ready` is called for a socket that is readable, writable or both, repeatedly while it is. It returns
  // false if it has left data that can be read immediately.
  using Ready = std::function<bool(int fd, bool readable, bool writable)>;
  SocketSet(Loop::Impl& impl, Ready ready);

  void watch(int fd, bool read, bool write);  // both false: same as forget
  void forget(int fd);                        // call it before the socket is closed
  void close();                               // `ready` is not called any more

  // If true, another thread waits for `fd` (edge-triggered). It calls `wake_up` while it holds the run lock.
  void delegate_waiting(bool others);
  void wake_up();  // calls `ready` for all sockets that are ready
  int fd() const { return fd_; }

 private:
  bool resume_all_ready();
  void wait();
  void retry_later();

  Loop::Impl& impl_;
  Ready ready_;
  int fd_;                              // -1: closed
  asio::posix::stream_descriptor set_;  // owns `fd_` unless another thread waits
  bool waiting_delegated_ = false;
  std::unordered_map<int, std::uint32_t> watched_;  // fd → generation, because fd numbers are reused
  std::uint32_t last_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace millrace::net

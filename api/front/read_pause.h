#pragma once
#include <functional>

#include "platform/base/result.h"

namespace millrace::front {

// A socket that never becomes readable. All connections share one.
class NeverReadableSocket {
 public:
  NeverReadableSocket() = default;
  ~NeverReadableSocket();
  NeverReadableSocket(const NeverReadableSocket&) = delete;
  NeverReadableSocket& operator=(const NeverReadableSocket&) = delete;

  // Error: the kernel returns no fd. REQUIRES: called once.
  base::Status open();
  int fd() const { return ends_[0]; }

 private:
  int ends_[2] = {-1, -1};
};

// Pauses Pistache's reading of a client's socket. Pistache always reads a socket until it is empty and
// identifies it by its fd number. So while reading is paused, dup2 points that number to the silent socket,
// and the client's socket has another number that is not read. TCP flow control then makes the client wait.
// Not thread-safe: the connection's mutex guards it.
class ReadPause {
 public:
  // `rearm_read` makes Pistache read the socket again.
  ReadPause(int fd, std::function<void()> rearm_read) : fd_(fd), rearm_read_(std::move(rearm_read)) {}
  ~ReadPause();
  ReadPause(const ReadPause&) = delete;
  ReadPause& operator=(const ReadPause&) = delete;

  // Must be called on the thread that reads the socket, so that no piece is in flight. False: the kernel
  // returns no fd, and reading continues. REQUIRES: !stopped().
  bool stop(const NeverReadableSocket& never_readable);
  // Restores the fd number. Does nothing if reading is not stopped. Any thread.
  void end();
  bool stopped() const { return copy_ >= 0; }

 private:
  const int fd_;
  const std::function<void()> rearm_read_;
  int copy_ = -1;  // the client's socket while reading is stopped
};

}  // namespace millrace::front

#pragma once
#include <functional>

#include "platform/base/result.h"

namespace millrace::front {

// A socket that has nothing to read, ever. One for all connections.
class SilentSocket {
 public:
  SilentSocket() = default;
  ~SilentSocket();
  SilentSocket(const SilentSocket&) = delete;
  SilentSocket& operator=(const SilentSocket&) = delete;

  // Error: the kernel gives no fd. REQUIRES: called once.
  base::Status open();
  int fd() const { return ends_[0]; }

 private:
  int ends_[2] = {-1, -1};
};

// Keeps Pistache from reading a client's socket for a while. It reads until a socket is empty, by the number
// that it was given, and knows no other end. So while reading is stopped that number stands for the silent
// socket, and the client's lies under another one, unread: its window closes, and the client waits. Not
// thread-safe: its connection's mutex guards it.
class ReadStop {
 public:
  // `read_again` makes Pistache look at the socket anew.
  ReadStop(int fd, std::function<void()> read_again) : fd_(fd), read_again_(std::move(read_again)) {}
  ~ReadStop();
  ReadStop(const ReadStop&) = delete;
  ReadStop& operator=(const ReadStop&) = delete;

  // On the thread that reads the socket: no piece of it can be on its way then. False: the kernel gives no
  // fd; reading goes on. REQUIRES: !stopped().
  bool stop(const SilentSocket& silence);
  // Gives the number back. Nothing if reading is not stopped. Any thread.
  void end();
  bool stopped() const { return aside_ >= 0; }

 private:
  const int fd_;
  const std::function<void()> read_again_;
  int aside_ = -1;  // the client's socket meanwhile
};

}  // namespace millrace::front

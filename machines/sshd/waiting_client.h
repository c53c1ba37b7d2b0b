#pragma once
#include <chrono>
#include <string>

#include "platform/base/fd.h"

namespace millrace::machines {

// A client that has connected and for which no sshd has been started yet. It must first send its version
// line, as SSH clients do without waiting for the server (RFC 4253 §4.2). Not thread-safe.
class WaitingClient {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `address` without the port. The line must arrive before `deadline`.
  WaitingClient(base::Fd socket, std::string address, std::string port, Time deadline)
      : socket_(std::move(socket)),
        address_(std::move(address)),
        port_(std::move(port)),
        deadline_(deadline) {}

  // Readable: call `read`. -1: the line has arrived.
  int read_fd() const { return is_ready_ ? -1 : socket_.get(); }
  // Reads what has arrived. False: the client is gone, or it does not speak SSH.
  bool read();
  // The version line has arrived.
  bool is_ready() const { return is_ready_; }
  // No time limit applies once the line has arrived.
  Time deadline() const { return is_ready_ ? Time::max() : deadline_; }

  const std::string& address() const { return address_; }
  std::string client() const { return address_ + " port " + port_; }
  // The bytes that `read` has read; at most kBytesMax. Sshd gets them first.
  const std::string& received() const { return received_; }
  base::Fd take_socket() { return std::move(socket_); }

  static constexpr std::size_t kBytesMax = 255;  // of the line

 private:
  base::Fd socket_;
  std::string address_, port_;
  Time deadline_;
  std::string received_;
  bool is_ready_ = false;
};

}  // namespace millrace::machines

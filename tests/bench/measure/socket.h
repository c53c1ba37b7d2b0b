#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "platform/base/result.h"

namespace millrace::bench {

// A socket that its destructor closes.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { reset(); }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;
  int fd() const { return fd_; }
  void reset();

 private:
  int fd_ = -1;
};

// Loopback only, with TCP_NODELAY. Errors contain the system's message.
base::Result<Socket> connect_loopback(std::uint16_t port);
struct Listening {
  Socket socket;
  std::uint16_t port = 0;
};
base::Result<Listening> listen_loopback();

base::Error system_error(const std::string& what);  // the message is "`what`: <text of errno>"

}  // namespace millrace::bench

#include "tests/bench/measure/socket.h"

#include <cerrno>
#include <system_error>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millrace::bench {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this == &other) return *this;
  reset();
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

void Socket::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

base::Error system_error(const std::string& what) {
  return base::error(base::Code::kInternal, what + ": " + std::generic_category().message(errno));
}

base::Result<Socket> connect_loopback(std::uint16_t port) {
  Socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (made.fd() < 0) return system_error("socket");
  const sockaddr_in address = loopback(port);
  if (::connect(made.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return system_error("connect to port " + std::to_string(port));
  const int on = 1;
  ::setsockopt(made.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

base::Result<Listening> listen_loopback() {
  Socket made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (made.fd() < 0) return system_error("socket");
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::bind(made.fd(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(made.fd(), 1024) != 0 ||
      ::getsockname(made.fd(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return system_error("listen");
  return Listening{std::move(made), ntohs(address.sin_port)};
}

}  // namespace millrace::bench

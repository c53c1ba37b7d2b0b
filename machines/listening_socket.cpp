#include "machines/listening_socket.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace millrace::machines {
namespace {

constexpr int kBacklog = 64;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolved(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "0", &wanted, &found) != 0) found = nullptr;
  return {found, ::freeaddrinfo};
}

void set_port(sockaddr_storage& address, int port) {
  const in_port_t value = htons(static_cast<std::uint16_t>(port));
  if (address.ss_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6&>(address).sin6_port = value;
  } else {
    reinterpret_cast<sockaddr_in&>(address).sin_port = value;
  }
}

int port_of(const sockaddr_storage& address) {
  const bool six = address.ss_family == AF_INET6;
  return ntohs(six ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

// Empty: errno.
ListeningSocket listening_at(const addrinfo& at, int port) {
  sockaddr_storage address{};
  std::memcpy(&address, at.ai_addr, at.ai_addrlen);
  set_port(address, port);
  base::Fd fd(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  socklen_t size = at.ai_addrlen;
  const bool listens = fd && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                       ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       ::listen(fd.get(), kBacklog) == 0 &&
                       ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (!listens) return {};
  return {std::move(fd), port_of(address)};
}

}  // namespace

base::Result<ListeningSocket> listening_socket(const std::string& host, int port) {
  const Addresses addresses = resolved(host);
  if (!addresses) {
    return base::error(base::Code::kHostAgentFailed, "ssh.listen: " + host + " is no address of this host");
  }
  ListeningSocket made = port > 0 ? listening_at(*addresses, port) : ListeningSocket{};
  if (!made.socket) made = listening_at(*addresses, 0);
  if (made.socket) return made;
  return base::error(base::Code::kHostAgentFailed,
                     "ssh.listen: cannot listen at " + host + ": " + std::strerror(errno));
}

}  // namespace millrace::machines

#include "machines/sshd/sshd_starts.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

namespace millrace::machines {
namespace {

constexpr int kBacklog = 64;

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolved(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), "0", &hints, &found) != 0) found = nullptr;
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

// Empty: see errno.
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
    return base::error(base::Code::kHostAgentFailed,
                       "ssh.listen: " + host + " is not an address of this host");
  }
  ListeningSocket made = port > 0 ? listening_at(*addresses, port) : ListeningSocket{};
  if (!made.socket) made = listening_at(*addresses, 0);
  if (made.socket) return made;
  return base::error(base::Code::kHostAgentFailed,
                     "ssh.listen: cannot listen at " + host + ": " + std::strerror(errno));
}

SshdStarts::~SshdStarts() {
  std::unique_lock lock(mutex_);
  for (Start& start : starts_) start.stop.kill();
  std::list<Start> ending = std::move(starts_);
  lock.unlock();
}

// Joining these threads does not block: they are at their last step or have ended.
bool SshdStarts::full() {
  std::list<Start> over;
  const std::lock_guard lock(mutex_);
  for (auto each = starts_.begin(); each != starts_.end();) {
    const auto start = each++;
    if (start->over) over.splice(over.end(), starts_, start);
  }
  return starts_.size() >= static_cast<std::size_t>(starts_max_);
}

base::Status SshdStarts::begin(const base::Uuid& machine,
                               std::function<void(const CancelToken& stop)> start) {
  const std::lock_guard lock(mutex_);
  Start& begun = starts_.emplace_back();
  begun.machine = machine;
  try {
    if (begun.stop.fd() >= 0) {
      begun.thread = std::jthread([this, &begun, act = std::move(start)] { run(begun, act); });
      return {};
    }
  } catch (const std::system_error&) {
  }
  starts_.pop_back();
  return base::error(base::Code::kOverloaded, "no thread or file descriptor is left: raise `ulimit -u -n`");
}

void SshdStarts::run(Start& start, const std::function<void(const CancelToken& stop)>& act) {
  pthread_setname_np(pthread_self(), "sshd start");
  act(start.stop);
  {
    const std::lock_guard lock(mutex_);
    start.over = true;
  }
  on_end_();
}

void SshdStarts::stop(const base::Uuid& machine) {
  const std::lock_guard lock(mutex_);
  for (Start& start : starts_) {
    if (start.machine == machine) start.stop.kill();
  }
}

}  // namespace millrace::machines

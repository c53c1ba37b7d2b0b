#include "workers/tcp_probe.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include "platform/base/fd.h"
#include "platform/process/child.h"
#include "platform/process/poll_limit.h"

namespace millrace::workers {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;
using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

constexpr const char* kResolver = "/usr/bin/getent";
constexpr std::size_t kResolvedMax = 16 * 1024;
constexpr std::size_t kAddressesMax = 16;

// Of an address in numbers; none: it is a name.
Addresses numeric(const std::string& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found) != 0) found = nullptr;
  return {found, &::freeaddrinfo};
}

// The addresses of a name, in numbers. In a process of its own: within ours a resolver that waits can be
// neither bounded nor stopped.
std::vector<std::string> resolve(process::Spawner& spawner, const std::string& name, milliseconds longest,
                                 const machines::StopSwitch& stop) {
  process::Command command;
  command.argv = {kResolver, "ahosts", "--", name};
  command.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  command.dies_with_us = true;
  const auto said = process::capture(spawner, std::move(command), {longest, kResolvedMax}, {stop.fd()});
  std::vector<std::string> addresses;
  if (!said || !said->exit.ok()) return addresses;
  std::istringstream lines(said->out);
  for (std::string line; std::getline(lines, line) && addresses.size() < kAddressesMax;) {
    std::string address, kind;
    std::istringstream(line) >> address >> kind;
    if (kind == "STREAM") addresses.push_back(std::move(address));
  }
  return addresses;
}

bool connects(const addrinfo& to, Steady::time_point deadline, const machines::StopSwitch& stop) {
  const base::Fd fd(::socket(to.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return false;
  if (::connect(fd.get(), to.ai_addr, to.ai_addrlen) == 0) return true;
  if (errno != EINPROGRESS) return false;
  std::array<pollfd, 2> waited{{{fd.get(), POLLOUT, 0}, {stop.fd(), POLLIN, 0}}};
  ::poll(waited.data(), waited.size(), process::poll_limit(deadline));
  if (waited[0].revents == 0) return false;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace

bool tcp_answers(process::Spawner& spawner, const base::NetAddress& address, milliseconds longest,
                 const machines::StopSwitch& stop) {
  const Steady::time_point deadline = Steady::now() + longest;
  if (const Addresses given = numeric(address.host, address.port)) return connects(*given, deadline, stop);
  for (const std::string& each : resolve(spawner, address.host, longest, stop)) {
    if (stop.told()) return false;
    const Addresses found = numeric(each, address.port);
    if (found && connects(*found, deadline, stop)) return true;
  }
  return false;
}

}  // namespace millrace::workers

#include "workers/machines/machine_wake.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/base/fd.h"
#include "platform/base/net_address.h"
#include "platform/process/child.h"
#include "schemas/machines/execution.h"

namespace millrace::workers {
namespace {

using std::chrono::milliseconds;

// Added to the client's own time-out, which should fire first.
constexpr milliseconds kSlack{2'000};

// The response; set once, on the client's loop.
class Reply {
 public:
  Reply() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int fd() const { return event_.get(); }
  void set(base::Result<int> status) {
    const std::lock_guard lock(mutex_);
    if (status_) return;
    status_ = std::move(status);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
  }
  std::optional<base::Result<int>> result() {
    const std::lock_guard lock(mutex_);
    return status_;
  }

 private:
  base::Fd event_;
  std::mutex mutex_;
  std::optional<base::Result<int>> status_;
};

net::HttpClient::Handlers handlers_for(const std::shared_ptr<Reply>& reply) {
  net::HttpClient::Handlers handlers;
  handlers.on_head = [reply](const net::HttpReply& head) { reply->set(head.status); };
  handlers.on_data = [](std::string_view) { return false; };
  handlers.on_done = [reply](const base::Result<net::HttpReply>& done) {
    reply->set(done ? base::Result<int>(done->status) : base::Result<int>(done.error()));
  };
  return handlers;
}

}  // namespace

bool wait_for_cancel(const machines::CancelToken& stop, milliseconds pause) {
  pollfd waited{stop.fd(), POLLIN, 0};
  return ::poll(&waited, 1, static_cast<int>(pause.count())) == 1;
}

base::Result<std::optional<int>> send_http_request(net::HttpClient& client, net::HttpRequest request,
                                                   const machines::CancelToken& stop) {
  const milliseconds longest = request.total_timeout + kSlack;
  const auto reply = std::make_shared<Reply>();
  if (reply->fd() < 0)
    return base::error(base::Code::kOverloaded,
                       "no file descriptor is left for a request: raise `ulimit -n`");
  const auto transfer = client.start(std::move(request), handlers_for(reply));
  std::array<pollfd, 2> waited{{{reply->fd(), POLLIN, 0}, {stop.fd(), POLLIN, 0}}};
  ::poll(waited.data(), waited.size(), static_cast<int>(longest.count()));
  client.cancel(transfer);
  if (waited[1].revents != 0) return std::optional<int>();
  const auto result = reply->result();
  if (!result) return base::error(base::Code::kUpstreamTimeout, "it did not respond in time");
  if (!*result) return result->error();
  return std::optional<int>(**result);
}

namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;
using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

constexpr const char* kResolver = "/usr/bin/getent";
constexpr std::size_t kResolvedMax = 16 * 1024;
constexpr std::size_t kAddressesMax = 16;

// Parses a numeric address; empty: `host` is a name.
Addresses numeric(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) found = nullptr;
  return {found, &::freeaddrinfo};
}

// Resolves a name to numeric addresses. It runs in a child process, because a blocked resolver in this
// process could be neither bounded nor stopped.
std::vector<std::string> resolve(process::Spawner& spawner, const std::string& name, milliseconds longest,
                                 const machines::CancelToken& stop) {
  process::Command command;
  command.argv = {kResolver, "ahosts", "--", name};
  command.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  command.kill_with_parent = true;
  const auto resolved = process::capture(spawner, std::move(command), {longest, kResolvedMax}, {stop.fd()});
  std::vector<std::string> addresses;
  if (!resolved || !resolved->exit.ok()) return addresses;
  std::istringstream lines(resolved->out);
  for (std::string line; std::getline(lines, line) && addresses.size() < kAddressesMax;) {
    std::string address, kind;
    std::istringstream(line) >> address >> kind;
    if (kind == "STREAM") addresses.push_back(std::move(address));
  }
  return addresses;
}

bool connects(const addrinfo& to, Steady::time_point deadline, const machines::CancelToken& stop) {
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

bool is_tcp_reachable(process::Spawner& spawner, const base::NetAddress& address, milliseconds longest,
                      const machines::CancelToken& stop) {
  const Steady::time_point deadline = Steady::now() + longest;
  if (const Addresses given = numeric(address.host, address.port)) return connects(*given, deadline, stop);
  for (const std::string& each : resolve(spawner, address.host, longest, stop)) {
    if (stop.is_requested()) return false;
    const Addresses found = numeric(each, address.port);
    if (found && connects(*found, deadline, stop)) return true;
  }
  return false;
}

namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr std::size_t kLineMax = 200;

// The last non-empty line of text that arrives in pieces.
class LastLine {
 public:
  void take(std::string_view bytes) {
    for (const char c : bytes) {
      if (c == '\n') {
        if (!line_.empty()) last_ = std::exchange(line_, {});
      } else if (line_.size() < kLineMax && c != '\r') {
        line_ += c;
      }
    }
  }
  std::string get() const {
    const std::string& line = line_.empty() ? last_ : line_;
    return schemas::is_text(line) ? line : "";
  }

 private:
  std::string line_, last_;
};

std::string inherited(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread calls setenv
  return std::string(name) + '=' + (value != nullptr ? value : otherwise);
}

process::Command command_of(const schemas::Machine& machine, const std::vector<std::string>& argv,
                            int output) {
  process::Command command;
  command.argv = argv;
  command.environment = {inherited("PATH", "/usr/local/bin:/usr/bin:/bin"), inherited("HOME", "/"),
                         "LANG=C.UTF-8", "MILLRACE_MACHINE_ID=" + schemas::machine_id(machine.id),
                         "MILLRACE_MACHINE_NAME=" + machine.name};
  command.fds = {{1, output}, {2, output}};
  command.kill_with_parent = true;  // the next gateway process runs the command again
  return command;
}

// Reads the available bytes; false: end of file.
bool read_some(int fd, LastLine& line) {
  std::array<char, 4096> piece;
  for (;;) {
    const ssize_t got = ::read(fd, piece.data(), piece.size());
    if (got > 0) {
      line.take({piece.data(), static_cast<std::size_t>(got)});
    } else if (got == 0 || errno != EINTR) {
      return got < 0 && errno == EAGAIN;
    }
  }
}

std::string how(const process::Exit& exit, const std::string& line) {
  const std::string by = exit.signal != 0 ? "was terminated by signal " + std::to_string(exit.signal)
                                          : "ended with exit code " + std::to_string(exit.code);
  return "the wake command " + by + (line.empty() ? "" : ": " + line);
}

base::Result<bool> follow(process::Child& child, const base::Fd& output, Steady::time_point deadline,
                          const machines::CancelToken& stop) {
  LastLine line;
  bool open = true;
  while (!child.wait(milliseconds(0))) {
    std::array<pollfd, 3> waited{
        {{child.pidfd(), POLLIN, 0}, {stop.fd(), POLLIN, 0}, {open ? output.get() : -1, POLLIN, 0}}};
    const int ready = ::poll(waited.data(), waited.size(), process::poll_limit(deadline));
    if (ready == 0) return wake_failed("the wake command did not end within the wake rule's timeout");
    if (waited[1].revents != 0) return false;
    if (waited[2].revents != 0) open = read_some(output.get(), line);
  }
  const process::Exit exit = *child.wait(milliseconds(0));
  if (exit.ok()) return true;
  if (open) read_some(output.get(), line);
  return wake_failed(how(exit, line.get()));
}

}  // namespace

base::Error wake_failed(std::string message) {
  return base::error(base::Code::kMachineWakeFailed, std::move(message));
}

base::Result<bool> run_wake_command(process::Spawner& spawner, const schemas::Machine& machine,
                                    const std::vector<std::string>& argv, Steady::time_point deadline,
                                    const machines::CancelToken& stop) {
  auto output = base::make_pipe();
  if (!output) return output.error();
  ::fcntl(output->read.get(), F_SETFL, O_NONBLOCK);
  auto child = process::Child::start(spawner, command_of(machine, argv, output->write.get()));
  if (!child) return wake_failed("the wake command could not be started");
  output->write.reset();
  return follow(*child, output->read, deadline, stop);
}

namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kProbePause{500};
constexpr milliseconds kProbeLongest{5'000};  // time-out of one probe
constexpr std::string_view kTcp = "tcp://";

milliseconds left_until(Steady::time_point deadline) {
  return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(deadline - Steady::now()));
}

base::Result<bool> post(const WakeDependencies& dependencies, const std::string& url,
                        Steady::time_point deadline) {
  net::HttpRequest request;
  request.method = "POST";
  request.url = url;
  request.total_timeout = std::max(milliseconds(1), left_until(deadline));
  const auto status = send_http_request(dependencies.http, std::move(request), dependencies.stop);
  if (!status) return wake_failed("the wake request got no response: " + status.error().message);
  if (!*status) return false;
  if (**status >= 200 && **status < 300) return true;
  return wake_failed("the wake request returned status " + std::to_string(**status));
}

std::string probe_of(const schemas::Machine& machine, const schemas::WakeRule& rule) {
  if (!rule.probe.empty() || !machine.settings.ssh) return rule.probe;
  const schemas::SshTarget& target = *machine.settings.ssh;
  return std::string(kTcp) + base::NetAddress{target.host, static_cast<std::uint16_t>(target.port)}.str();
}

// Sends one probe.
bool answers(const WakeDependencies& dependencies, const std::string& probe, milliseconds longest) {
  if (probe.starts_with(kTcp)) {
    const auto address = base::parse_net_address(std::string_view(probe).substr(kTcp.size()));
    return address && is_tcp_reachable(dependencies.spawner, *address, longest, dependencies.stop);
  }
  net::HttpRequest request;
  request.url = probe;
  request.total_timeout = longest;
  const auto status = send_http_request(dependencies.http, std::move(request), dependencies.stop);
  return status && *status && **status < 400;
}

base::Result<bool> await(const WakeDependencies& dependencies, const std::string& probe,
                         const schemas::WakeRule& rule, Steady::time_point deadline) {
  for (;;) {
    const milliseconds longest = std::clamp(left_until(deadline), milliseconds(1), kProbeLongest);
    if (answers(dependencies, probe, longest)) return true;
    const milliseconds left = left_until(deadline);
    if (left == milliseconds(0)) {
      return wake_failed("the machine did not respond at " + probe + " within " +
                         std::to_string(rule.timeout.count()) + " ms");
    }
    if (wait_for_cancel(dependencies.stop, std::min(left, kProbePause))) return false;
  }
}

}  // namespace

base::Result<bool> apply_wake_rule(const WakeDependencies& dependencies, const schemas::Machine& machine) {
  if (!machine.settings.wake) return true;
  const schemas::WakeRule& rule = *machine.settings.wake;
  const Steady::time_point deadline = Steady::now() + rule.timeout;
  if (!rule.command.empty()) {
    auto ran = run_wake_command(dependencies.spawner, machine, rule.command, deadline, dependencies.stop);
    if (!ran || !*ran) return ran;
  }
  if (!rule.http.empty()) {
    auto posted = post(dependencies, rule.http, deadline);
    if (!posted || !*posted) return posted;
  }
  const std::string probe = probe_of(machine, rule);
  if (probe.empty()) return true;
  return await(dependencies, probe, rule, deadline);
}

}  // namespace millrace::workers

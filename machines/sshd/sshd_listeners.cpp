#include "machines/sshd/sshd_listeners.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include <netdb.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/base/log.h"

namespace millrace::machines {
namespace {

using schemas::SshListenerState;
using std::chrono::milliseconds;

constexpr milliseconds kAcceptPause{250};

std::string address_text(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int failed = ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(),
                                   host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  return failed != 0 ? "unknown" : std::string(host.data()) + " port " + port.data();
}

bool is_over(const base::Result<SshListenerState>& machine_listener) {
  return machine_listener && *machine_listener == SshListenerState::kOver;
}

}  // namespace

SshListeners::SshListeners(const LocalSshd::Options& options, const LocalSshd::Hooks& hooks, Begin begin)
    : connections_max_(options.connections_max),
      starts_max_(options.starts_max),
      round_(options.check_interval),
      hooks_(hooks),
      begin_(std::move(begin)),
      wakeup_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      starts_(options.starts_max, [this] { wake(); }),
      next_round_(Steady::now() + round_),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

SshListeners::~SshListeners() {
  thread_.request_stop();
  wake();
  thread_.join();
}

void SshListeners::wake() const {
  const std::uint64_t one = 1;
  // Fails only when the counter is at its maximum; the eventfd is then readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(wakeup_fd_.get(), &one, sizeof one);
}

std::optional<LocalSshd::Endpoint> SshListeners::endpoint(const schemas::Machine& machine) {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [&] { return !attended_.contains(machine.id); });
  const auto found = listeners_.find(machine.id);
  if (found == listeners_.end()) return std::nullopt;
  found->second.machine = machine;
  return found->second.endpoint;
}

LocalSshd::Endpoint SshListeners::add(SshdListener machine_listener) {
  const base::Uuid id = machine_listener.machine.id;
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [&] { return !attended_.contains(id); });
  LocalSshd::Endpoint endpoint =
      listeners_.try_emplace(id, std::move(machine_listener)).first->second.endpoint;
  lock.unlock();
  wake();
  return endpoint;
}

void SshListeners::remove(const base::Uuid& machine) {
  std::unique_lock lock(mutex_);
  if (const auto machine_listener = listeners_.find(machine); machine_listener != listeners_.end())
    machine_listener->second.ending = true;
  starts_.stop(machine);
  settled_.wait(lock, [&] { return !attended_.contains(machine); });
  const auto ended = listeners_.extract(machine);
  lock.unlock();
  wake();
}

void SshListeners::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      step();
    } catch (const std::exception& error) {
      base::log_error("ssh_listeners_failed", {{"error", error.what()}});
      accept_paused_until_ = Steady::now() + kAcceptPause;
    }
  }
}

void SshListeners::step() {
  Watched now = watched();
  if (::poll(now.fds.data(), now.fds.size(), wait_limit()) < 0) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t emptied = ::read(wakeup_fd_.get(), &count, sizeof count);
  for (std::size_t i = 1; i < now.fds.size(); ++i) {
    if (now.fds[i].revents != 0) look_at(now.watches[i - 1]);
  }
  if (Steady::now() >= next_round_) check_listeners();
}

int SshListeners::wait_limit() const {
  const auto now = Steady::now();
  const auto next = now < accept_paused_until_ ? std::min(next_round_, accept_paused_until_) : next_round_;
  return static_cast<int>(
      std::max<milliseconds::rep>(std::chrono::ceil<milliseconds>(next - now).count(), 0));
}

SshListeners::Watched SshListeners::watched() {
  Watched all;
  all.fds.push_back({wakeup_fd_.get(), POLLIN, 0});
  const auto add = [&](int fd, Watch watch) {
    if (fd < 0) return;
    all.fds.push_back({fd, POLLIN, 0});
    all.watches.push_back(watch);
  };
  const bool deaf = Steady::now() < accept_paused_until_ || starts_full();
  const std::lock_guard lock(mutex_);
  for (const auto& [id, machine_listener] : listeners_) {
    if (!deaf && !machine_listener.ending && !attended_.contains(id))
      add(machine_listener.listener.get(), {id, 0});
    for (const auto& [number, connection] : machine_listener.connections) {
      add(connection.end_fd(), {id, number});
      add(connection.log_fd(), {id, number});
    }
  }
  return all;
}

void SshListeners::look_at(const Watch& watch) {
  if (watch.connection == 0) {
    answer(watch.machine);
  } else {
    handle_connection(watch);
  }
}

bool SshListeners::starts_full() {
  const bool full = starts_.full();
  if (full && !full_reported_) base::log_warn("ssh_starts_queued", {{"starts_max", starts_max_}});
  full_reported_ = full;
  return full;
}

void SshListeners::answer(const base::Uuid& machine) {
  if (starts_full()) return;
  const auto any_found = accepted(machine);
  if (!any_found) return;
  const auto begun =
      starts_.begin(machine, [this, any_found](const CancelToken& stop) { start(*any_found, stop); });
  if (!begun) settle(*any_found, false, begun.error());
}

// A later `remove` finds this start and stops it.
void SshListeners::start(AcceptedClient& accepted, const CancelToken& stop) {
  try {
    if (ends(accepted.machine.id)) return leave(accepted.machine.id);
    const auto machine_listener = state_of(accepted.machine.id);
    settle(accepted, is_over(machine_listener), served(accepted, machine_listener, stop));
  } catch (const std::exception& error) {
    base::log_error("ssh_listeners_failed", {{"error", error.what()}});
    leave(accepted.machine.id);
  }
}

base::Result<SshListenerState> SshListeners::state_of(const base::Uuid& machine) const {
  try {
    return hooks_.listener(machine);
  } catch (const std::exception& error) {
    return base::error(base::Code::kInternal, error.what());
  }
}

base::Result<SshdConnection> SshListeners::served(AcceptedClient& accepted,
                                                  const base::Result<SshListenerState>& machine_listener,
                                                  const CancelToken& stop) const {
  if (!machine_listener) return machine_listener.error();
  if (*machine_listener != SshListenerState::kActive) {
    return base::error(base::Code::kMachineNotRoutable, "this worker does not serve the machine's SSH now");
  }
  try {
    return begin_(accepted, stop);
  } catch (const std::exception& error) {
    return base::error(base::Code::kInternal, error.what());
  }
}

std::shared_ptr<SshListeners::AcceptedClient> SshListeners::accepted(const base::Uuid& machine) {
  const std::lock_guard lock(mutex_);
  const auto found = listeners_.find(machine);
  if (found == listeners_.end() || found->second.ending || attended_.contains(machine)) return nullptr;
  SshdListener& machine_listener = found->second;
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  base::Fd socket(
      ::accept4(machine_listener.listener.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC));
  if (!socket) {
    const bool gone = errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
    if (!gone) accept_paused_until_ = Steady::now() + kAcceptPause;
    return nullptr;
  }
  if (machine_listener.connections.size() >= static_cast<std::size_t>(connections_max_)) {
    if (!std::exchange(machine_listener.full_reported, true)) {
      base::log_warn("ssh_connections_refused",
                     {{"machine", schemas::machine_id(machine)}, {"connections_max", connections_max_}});
    }
    return nullptr;
  }
  auto accepted = std::make_shared<AcceptedClient>(
      AcceptedClient{machine_listener.machine, machine_listener.endpoint.host, machine_listener.host_key,
                     std::move(socket), address_text(from, size)});
  attended_.insert(machine);
  return accepted;
}

void SshListeners::settle(const AcceptedClient& accepted, bool over, base::Result<SshdConnection> made) {
  const base::Uuid& id = accepted.machine.id;
  if (!made) {
    base::log_warn("ssh_connection_failed",
                   {{"machine", schemas::machine_id(id)}, {"reason", made.error().message}});
  }
  if (over) return close_listener(id);
  if (made) {
    const std::lock_guard lock(mutex_);
    // `remove` waits for `leave`, so the listener still exists.
    listeners_.at(id).connections.try_emplace(++last_connection_, std::move(*made));
  }
  leave(id);
  if (made && hooks_.on_use) hooks_.on_use(id);
}

bool SshListeners::ends(const base::Uuid& machine) {
  const std::lock_guard lock(mutex_);
  const auto machine_listener = listeners_.find(machine);
  return machine_listener == listeners_.end() || machine_listener->second.ending;
}

void SshListeners::leave(const base::Uuid& machine) {
  const std::lock_guard lock(mutex_);
  attended_.erase(machine);
  settled_.notify_all();
}

// Removes a listener whose machine is in `attended_`.
void SshListeners::close_listener(const base::Uuid& machine) {
  base::log_info("ssh_listener_closed", {{"machine", schemas::machine_id(machine)}});
  std::unique_lock lock(mutex_);
  attended_.erase(machine);
  const auto ended = listeners_.extract(machine);
  lock.unlock();
  settled_.notify_all();
}

void SshListeners::handle_connection(const Watch& watch) {
  std::unique_lock lock(mutex_);
  const auto machine_listener = listeners_.find(watch.machine);
  if (machine_listener == listeners_.end()) return;
  auto& connections = machine_listener->second.connections;
  const auto connection = connections.find(watch.connection);
  if (connection == connections.end()) return;
  if (connection->second.log_fd() >= 0) connection->second.read_log();
  if (!connection->second.is_over()) return;
  machine_listener->second.full_reported = false;
  const auto ended = connections.extract(connection);
  lock.unlock();
  if (hooks_.on_use) hooks_.on_use(watch.machine);
}

void SshListeners::check_listeners() {
  next_round_ = Steady::now() + round_;
  std::vector<base::Uuid> all, used;
  std::unique_lock lock(mutex_);
  for (const auto& [id, machine_listener] : listeners_) all.push_back(id);
  lock.unlock();
  for (const base::Uuid& machine : all) check(machine);
  lock.lock();
  for (const auto& [id, machine_listener] : listeners_) {
    if (!machine_listener.connections.empty()) used.push_back(id);
  }
  lock.unlock();
  if (!hooks_.on_use) return;
  for (const base::Uuid& machine : used) hooks_.on_use(machine);
}

// Does nothing if a connection is being started: that start checks the state too.
void SshListeners::check(const base::Uuid& machine) {
  {
    const std::lock_guard lock(mutex_);
    const auto machine_listener = listeners_.find(machine);
    if (machine_listener == listeners_.end() || machine_listener->second.ending ||
        !attended_.insert(machine).second)
      return;
  }
  if (is_over(state_of(machine))) return close_listener(machine);
  leave(machine);
}

}  // namespace millrace::machines

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

// The starts that one tenant may have at once.
int tenant_starts_max(int starts_max) { return std::max(1, starts_max * 3 / 4); }

WaitingClient client_of(base::Fd socket, const sockaddr_storage& from, socklen_t size,
                        WaitingClient::Time deadline) {
  std::array<char, NI_MAXHOST> host{"unknown"};
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&from), size, host.data(), host.size(), port.data(),
                port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  return {std::move(socket), host.data(), port.data(), deadline};
}

bool is_over(const base::Result<SshListenerState>& machine_listener) {
  return machine_listener && *machine_listener == SshListenerState::kOver;
}

}  // namespace

int SshdListener::logins(const std::string& address) const {
  const auto without_login = [&](const auto& each) {
    return each.second.address == address && !each.second.connection.has_login();
  };
  const auto started = std::count_if(connections.begin(), connections.end(), without_login);
  return static_cast<int>(started) + (starting == address ? 1 : 0);
}

std::optional<std::uint64_t> SshdListener::oldest_without_login() const {
  std::map<std::string_view, std::vector<std::uint64_t>> by_address;
  for (const auto& [number, client] : waiting) by_address[client.address()].push_back(number);
  for (const auto& [number, client] : connections) {
    if (!client.connection.has_login()) by_address[client.address].push_back(number);
  }
  const auto most = std::max_element(by_address.begin(), by_address.end(), [](const auto& a, const auto& b) {
    return a.second.size() < b.second.size();
  });
  if (most == by_address.end()) return std::nullopt;
  return *std::min_element(most->second.begin(), most->second.end());
}

SshListeners::SshListeners(const LocalSshd::Options& options, const LocalSshd::Hooks& hooks, Begin begin)
    : options_(options),
      hooks_(hooks),
      begin_(std::move(begin)),
      wakeup_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      starts_(options.starts_max, [this] { wake(); }),
      next_round_(Steady::now() + options_.check_interval),
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

namespace {

// A poll in progress keeps a closed listener open, so it is also shut down.
void shut_down(const std::map<base::Uuid, SshdListener>::node_type& ended) {
  if (!ended.empty()) ::shutdown(ended.mapped().listener.get(), SHUT_RDWR);
}

}  // namespace

void SshListeners::remove(const base::Uuid& machine) {
  std::unique_lock lock(mutex_);
  if (const auto machine_listener = listeners_.find(machine); machine_listener != listeners_.end())
    machine_listener->second.ending = true;
  starts_.stop(machine);
  settled_.wait(lock, [&] { return !attended_.contains(machine); });
  const auto ended = listeners_.extract(machine);
  shut_down(ended);
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
  close_silent_clients();
  start_ready_clients();
  if (has_logins_ && Steady::now() >= next_login_check_) end_logins_of_ended_keys();
  if (Steady::now() >= next_round_) check_listeners();
}

int SshListeners::wait_limit() const {
  const auto now = Steady::now();
  auto next = std::min(next_round_, next_deadline_);
  if (has_logins_) next = std::min(next, next_login_check_);
  if (now < accept_paused_until_) next = std::min(next, accept_paused_until_);
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
  const bool accepts = Steady::now() >= accept_paused_until_;
  next_deadline_ = Steady::time_point::max();
  has_logins_ = false;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, machine_listener] : listeners_) {
    if (accepts && !machine_listener.ending) add(machine_listener.listener.get(), {id, 0});
    for (const auto& [number, client] : machine_listener.waiting) {
      add(client.read_fd(), {id, number});
      next_deadline_ = std::min(next_deadline_, client.deadline());
    }
    for (const auto& [number, client] : machine_listener.connections) {
      add(client.connection.end_fd(), {id, number});
      add(client.connection.log_fd(), {id, number});
      has_logins_ = has_logins_ || (hooks_.ended && client.connection.serial() > 0);
    }
  }
  return all;
}

void SshListeners::look_at(const Watch& watch) {
  if (watch.connection == 0) return accept_client(watch.machine);
  read_client(watch);
  handle_connection(watch);
}

bool SshListeners::starts_full() {
  const bool full = starts_.full();
  if (full && !full_reported_) base::log_warn("ssh_starts_queued", {{"starts_max", options_.starts_max}});
  full_reported_ = full;
  return full;
}

void SshListeners::start_ready_clients() {
  while (!starts_full()) {
    const auto client = take_ready_client();
    if (!client) return;
    const auto begun =
        starts_.begin(client->machine.id, [this, client](const CancelToken& stop) { start(*client, stop); });
    if (!begun) settle(*client, false, begun.error());
  }
}

// REQUIRES: the mutex is held.
std::map<std::string, int> SshListeners::starts_by_tenant() const {
  std::map<std::string, int> starts;
  for (const auto& [id, machine_listener] : listeners_) {
    if (machine_listener.starting) ++starts[machine_listener.machine.tenant];
  }
  return starts;
}

std::shared_ptr<SshListeners::AcceptedClient> SshListeners::take_ready_client() {
  const std::lock_guard lock(mutex_);
  auto starts = starts_by_tenant();
  auto best = listeners_.end();
  std::map<std::uint64_t, WaitingClient>::iterator best_client;
  auto each = listeners_.upper_bound(last_started_);
  int fewest = tenant_starts_max(options_.starts_max);
  for (std::size_t seen = 0; seen < listeners_.size(); ++seen, ++each) {
    if (each == listeners_.end()) each = listeners_.begin();
    SshdListener& listener = each->second;
    const int running = starts[listener.machine.tenant];
    if (listener.ending || attended_.contains(each->first) || running >= fewest) continue;
    const auto may_start = [&](const auto& client) {
      return client.second.is_ready() && listener.logins(client.second.address()) < options_.logins_max;
    };
    const auto found = std::find_if(listener.waiting.begin(), listener.waiting.end(), may_start);
    if (found == listener.waiting.end()) continue;
    best = each;
    best_client = found;
    fewest = running;
  }
  if (best == listeners_.end()) return nullptr;
  auto& [id, listener] = *best;
  WaitingClient& client = best_client->second;
  auto accepted = std::make_shared<AcceptedClient>(
      AcceptedClient{listener.machine, listener.endpoint.host, listener.host_key, best_client->first,
                     client.address(), client.client(), client.take_socket(), client.received()});
  listener.waiting.erase(best_client);
  listener.starting = accepted->address;
  attended_.insert(id);
  last_started_ = id;
  return accepted;
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

void SshListeners::accept_client(const base::Uuid& machine) {
  decltype(SshdListener::connections)::node_type ended;  // ends when the mutex is free again
  std::unique_lock lock(mutex_);
  const auto found = listeners_.find(machine);
  if (found == listeners_.end() || found->second.ending) return;
  SshdListener& machine_listener = found->second;
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  base::Fd socket(
      ::accept4(machine_listener.listener.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC));
  if (!socket) {
    const bool gone = errno == EAGAIN || errno == ECONNABORTED || errno == EINTR;
    if (!gone) accept_paused_until_ = Steady::now() + kAcceptPause;
    return;
  }
  if (machine_listener.size() >= static_cast<std::size_t>(options_.connections_max)) {
    if (!std::exchange(machine_listener.full_reported, true)) {
      base::log_warn("ssh_connections_refused", {{"machine", schemas::machine_id(machine)},
                                                 {"connections_max", options_.connections_max}});
    }
    for (auto& [number, client] : machine_listener.connections) {
      if (client.connection.log_fd() >= 0) client.connection.read_log();  // it may have logged in just now
    }
    const auto oldest = machine_listener.oldest_without_login();
    if (!oldest) return;
    machine_listener.waiting.erase(*oldest);
    ended = machine_listener.connections.extract(*oldest);
  }
  const auto deadline = Steady::now() + options_.version_wait;
  machine_listener.waiting.emplace(++last_connection_, client_of(std::move(socket), from, size, deadline));
  lock.unlock();
  if (ended && hooks_.on_use) hooks_.on_use(machine);
}

void SshListeners::read_client(const Watch& watch) {
  const std::lock_guard lock(mutex_);
  const auto machine_listener = listeners_.find(watch.machine);
  if (machine_listener == listeners_.end()) return;
  auto& waiting = machine_listener->second.waiting;
  const auto client = waiting.find(watch.connection);
  if (client != waiting.end() && !client->second.read()) waiting.erase(client);
}

void SshListeners::close_silent_clients() {
  const auto now = Steady::now();
  if (now < next_deadline_) return;
  const std::lock_guard lock(mutex_);
  for (auto& [id, machine_listener] : listeners_) {
    std::erase_if(machine_listener.waiting, [&](const auto& each) { return each.second.deadline() <= now; });
  }
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
    listeners_.at(id).connections.try_emplace(accepted.number,
                                              SshdListener::Served{accepted.address, std::move(*made)});
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
  if (const auto found = listeners_.find(machine); found != listeners_.end()) found->second.starting.reset();
  attended_.erase(machine);
  settled_.notify_all();
}

// Removes a listener whose machine is in `attended_`.
void SshListeners::close_listener(const base::Uuid& machine) {
  base::log_info("ssh_listener_closed", {{"machine", schemas::machine_id(machine)}});
  std::unique_lock lock(mutex_);
  attended_.erase(machine);
  const auto ended = listeners_.extract(machine);
  shut_down(ended);
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
  SshdConnection& sshd = connection->second.connection;
  if (sshd.log_fd() >= 0) sshd.read_log();
  if (!sshd.is_over()) return;
  machine_listener->second.full_reported = false;
  const auto ended = connections.extract(connection);
  lock.unlock();
  if (hooks_.on_use) hooks_.on_use(watch.machine);
}

void SshListeners::check_listeners() {
  next_round_ = Steady::now() + options_.check_interval;
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

void SshListeners::read_keys_of_logins() {
  std::map<std::int64_t, std::string> keys;
  const auto for_each_new = [&](const auto& act) {
    const std::lock_guard lock(mutex_);
    for (auto& [id, machine_listener] : listeners_) {
      for (auto& [number, client] : machine_listener.connections) {
        if (client.connection.serial() > 0 && !client.key) act(client);
      }
    }
  };
  std::vector<std::int64_t> serials;
  for_each_new([&](SshdListener::Served& client) { serials.push_back(client.connection.serial()); });
  for (const std::int64_t serial : serials) {
    if (auto key = hooks_.key_of(serial)) keys.emplace(serial, std::move(*key));
  }
  if (keys.empty()) return;
  for_each_new([&](SshdListener::Served& client) {
    const auto key = keys.find(client.connection.serial());
    if (key == keys.end()) return;
    client.key = key->second;
    base::log_info("ssh_login", {{"serial", key->first}, {"key_id", key->second}});
  });
}

void SshListeners::end_logins_of_ended_keys() {
  next_login_check_ = Steady::now() + options_.login_check_interval;
  read_keys_of_logins();
  std::set<std::string> keys;
  std::unique_lock lock(mutex_);
  for (const auto& [id, machine_listener] : listeners_) {
    for (const auto& [number, client] : machine_listener.connections) {
      if (client.key && !client.key->empty()) keys.insert(*client.key);
    }
  }
  lock.unlock();
  if (keys.empty()) return;
  const auto ended = hooks_.ended({keys.begin(), keys.end()});
  if (!ended || ended->empty()) return;
  std::vector<decltype(SshdListener::connections)::node_type> ending;  // they end when the mutex is free
  lock.lock();
  for (auto& [id, machine_listener] : listeners_) {
    auto& connections = machine_listener.connections;
    for (auto each = connections.begin(); each != connections.end();) {
      const auto connection = each++;
      const auto& key = connection->second.key;
      if (!key || std::find(ended->begin(), ended->end(), *key) == ended->end()) continue;
      base::log_info("ssh_login_ended", {{"machine", schemas::machine_id(id)},
                                         {"serial", connection->second.connection.serial()},
                                         {"key_id", *key}});
      ending.push_back(connections.extract(connection));
    }
  }
  lock.unlock();
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

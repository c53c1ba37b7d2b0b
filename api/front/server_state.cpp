#include "api/front/server_state.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/front/connection.h"
#include "platform/base/log.h"

namespace millrace::front {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kWakeupId = 0;  // connection ids begin at 1
constexpr std::size_t kEvictionTries = 16;
// A search for idle connections visits all of them, so it closes this part of them, and a search that found
// none is not repeated at once.
constexpr std::size_t kIdleEvictedPart = 100;
constexpr std::chrono::milliseconds kIdleSearchPause{250};

void run_guarded(const std::function<void()>& task) {
  try {
    task();
  } catch (const std::exception& e) {
    base::log_error("front_task_failed", {{"error", e.what()}});
  }
}

int milliseconds_until(Clock::time_point due) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

}  // namespace

AuxThread::~AuxThread() {
  stop();
  if (epoll_ >= 0) ::close(epoll_);
  if (wakeup_ >= 0) ::close(wakeup_);
}

base::Status AuxThread::start(Callbacks callbacks, std::chrono::milliseconds tick_period) {
  callbacks_ = std::move(callbacks);
  tick_period_ = tick_period;
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  wakeup_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeupId;
  if (epoll_ < 0 || wakeup_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wakeup_, &event) != 0) {
    return base::error(base::Code::kInternal,
                       "The HTTP front end has no file descriptor left; raise LimitNOFILE.");
  }
  accepting_ = true;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return {};
}

void AuxThread::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  wake();
  thread_.join();
}

void AuxThread::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (!accepting_) return;
    tasks_.push_back(std::move(task));
    if (tasks_.size() > 1) return;
  }
  wake();
}

void AuxThread::wake() const {
  const std::uint64_t one = 1;
  // If the write fails, the counter is full and the thread is awake already.
  [[maybe_unused]] const ssize_t written = ::write(wakeup_, &one, sizeof one);
}

void AuxThread::arm(int fd, std::uint64_t id, bool& known) {
  epoll_event event{};
  event.events = EPOLLOUT | EPOLLONESHOT;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) != 0) {
    base::log_error("front_arm_failed", {{"errno", errno}});
  }
  known = true;
}

void AuxThread::run_tasks() {
  std::vector<std::function<void()>> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (std::function<void()>& task : tasks) {
    run_guarded(task);
    task = nullptr;
  }
}

void AuxThread::run(const std::stop_token& stop) {
  std::array<epoll_event, 256> events;
  Clock::time_point tick_due = Clock::now() + tick_period_;
  while (!stop.stop_requested()) {
    const int count =
        ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), milliseconds_until(tick_due));
    for (int i = 0; i < count; ++i) {
      const std::uint64_t id = events[static_cast<std::size_t>(i)].data.u64;
      std::uint64_t signals = 0;
      if (id != kWakeupId) {
        run_guarded([&] { callbacks_.writable(id); });
      } else if (::read(wakeup_, &signals, sizeof signals) < 0 && errno != EAGAIN) {
        base::log_error("front_wakeup_failed", {{"errno", errno}});
      }
    }
    run_tasks();
    if (Clock::now() < tick_due) continue;
    run_guarded(callbacks_.tick);
    tick_due = Clock::now() + tick_period_;
  }
  {
    const std::lock_guard lock(mutex_);
    accepting_ = false;
  }
  run_tasks();
}

bool ServerState::is_trusted_proxy(const std::string& peer) const {
  if (trusted_proxies.empty()) return false;
  const auto address = base::IpAddress::parse(peer);
  return address && base::contains(trusted_proxies, *address);
}

void ServerState::add(std::uint64_t id, std::shared_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  connections_.emplace(id, std::move(connection));
}

void ServerState::remove(std::uint64_t id) {
  std::shared_ptr<Connection> removed;  // may be the last owner; destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  removed = std::move(found->second);
  connections_.erase(found);
  if (connections_.empty()) empty_.notify_all();
}

bool ServerState::evict_for(std::uint64_t new_connection) {
  for (const std::uint64_t id : unauthenticated.candidates(new_connection, kEvictionTries)) {
    const auto connection = find(id);
    if (!connection || !connection->evict()) continue;
    unauthenticated.remove(id);
    ++counters.evicted_total;
    return true;
  }
  return evict_idle();
}

// Closes those that have been idle longest, all of which have sent a valid key. True: at least one.
bool ServerState::evict_idle() {
  const Clock::time_point now = Clock::now();
  if (now - all_busy_at_.load() < kIdleSearchPause) return false;
  std::vector<std::pair<Clock::time_point, std::shared_ptr<Connection>>> idle;
  for (auto& connection : connections()) {
    if (const auto since = connection->idle_since()) idle.emplace_back(*since, std::move(connection));
  }
  const auto count = static_cast<std::ptrdiff_t>((idle.size() + kIdleEvictedPart - 1) / kIdleEvictedPart);
  std::ranges::partial_sort(idle, idle.begin() + count, {}, [](const auto& each) { return each.first; });
  const auto evicted = std::count_if(idle.begin(), idle.begin() + count,
                                     [](const auto& each) { return each.second->evict(); });
  counters.evicted_total += static_cast<std::uint64_t>(evicted);
  if (evicted == 0) all_busy_at_ = now;
  return evicted > 0;
}

std::shared_ptr<Connection> ServerState::find(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Connection>> ServerState::connections() const {
  std::vector<std::shared_ptr<Connection>> all;
  const std::lock_guard lock(mutex_);
  all.reserve(connections_.size());
  for (const auto& [id, connection] : connections_) all.push_back(connection);
  return all;
}

void ServerState::wait_empty(std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex_);
  empty_.wait_for(lock, deadline, [this] { return connections_.empty(); });
}

bool ServerState::try_begin_request(bool while_draining) {
  ++in_flight_;
  // Incremented first: either the thread that set `refusing_` sees this request, or this request sees
  // `refusing_`.
  if (!refusing_ || while_draining) return true;
  end_request();
  return false;
}

void ServerState::end_request() {
  if (--in_flight_ == 0) notify_change();
}

void ServerState::remove_unsent() {
  if (--unsent_ == 0) notify_change();
}

void ServerState::notify_change() {
  if (!refusing_) return;  // no drain is waiting
  const std::lock_guard lock(quiet_mutex_);
  quiet_.notify_all();
}

std::size_t ServerState::wait_until_idle(std::chrono::milliseconds deadline) {
  std::unique_lock lock(quiet_mutex_);
  quiet_.wait_for(lock, deadline, [this] { return in_flight_ == 0 && unsent_ == 0; });
  return in_flight_;
}

}  // namespace millrace::front

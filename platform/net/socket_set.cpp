#include "platform/net/socket_set.h"

#include <array>
#include <cerrno>
#include <utility>

#include <asio/post.hpp>
#include <sys/epoll.h>
#include <unistd.h>

#include "platform/base/log.h"

namespace millrace::net {
namespace {

constexpr std::size_t kReadyMax = 64;  // events per call; other tasks of the loop run in between
constexpr int kRoundsMax = 2;          // rounds per wake-up while data is left

std::uint64_t key_of(int fd, std::uint32_t number) {
  return std::uint64_t{number} << 32 | static_cast<std::uint32_t>(fd);
}

}  // namespace

SocketSet::SocketSet(Loop::Impl& impl, Ready ready)
    : impl_(impl), ready_(std::move(ready)), fd_(::epoll_create1(EPOLL_CLOEXEC)), set_(impl.context, fd_) {
  wait();
}

void SocketSet::watch(int fd, bool read, bool write) {
  if (!read && !write) return forget(fd);
  const auto [entry, inserted] = watched_.try_emplace(fd, last_ + 1);
  if (inserted) ++last_;
  epoll_event event{};
  event.events = (read ? EPOLLIN | EPOLLRDHUP : 0u) | (write ? EPOLLOUT : 0u);
  event.data.u64 = key_of(fd, entry->second);
  // If another thread waits edge-triggered, modifying a socket that is already ready produces no event, but
  // adding it does. So it is removed and added.
  const bool anew = inserted || (waiting_delegated_ && ::epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr) == 0);
  if (::epoll_ctl(fd_, anew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) != 0)
    base::log_error("socket_watch_failed", {{"errno", errno}});
}

void SocketSet::forget(int fd) {
  if (watched_.erase(fd) > 0) ::epoll_ctl(fd_, EPOLL_CTL_DEL, fd, nullptr);
}

void SocketSet::close() {
  alive_.reset();
  watched_.clear();
  asio::error_code ignored;
  if (waiting_delegated_ && fd_ >= 0) ::close(fd_);
  if (!waiting_delegated_) set_.close(ignored);
  fd_ = -1;
}

void SocketSet::delegate_waiting(bool others) {
  if (fd_ < 0 || std::exchange(waiting_delegated_, others) == others) return;
  if (others) {
    set_.release();
  } else {
    set_.assign(fd_);
    wait();
  }
}

void SocketSet::wait() {
  set_.async_wait(asio::posix::stream_descriptor::wait_read,
                  with_run_lock(impl_, [this, alive = std::weak_ptr(alive_)](asio::error_code error) {
                    if (error || alive.expired()) return;
                    resume_all_ready();
                    if (!alive.expired() && !waiting_delegated_) wait();
                  }));
}

// An edge is reported only once, so no ready socket may be left. A socket that becomes ready meanwhile
// produces another edge.
void SocketSet::wake_up() {
  for (int round = 0; round < kRoundsMax; ++round) {
    if (resume_all_ready()) return;
  }
  retry_later();
}

void SocketSet::retry_later() {
  asio::post(impl_.context, with_run_lock(impl_, [this, alive = std::weak_ptr(alive_)] {
               if (!alive.expired()) wake_up();
             }));
}

// False: there may be more sockets that were ready before.
bool SocketSet::resume_all_ready() {
  if (fd_ < 0) return true;
  std::array<epoll_event, kReadyMax> events;
  const int count = ::epoll_wait(fd_, events.data(), static_cast<int>(events.size()), 0);
  const std::weak_ptr alive = alive_;
  bool all = count < static_cast<int>(events.size());
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    const int fd = static_cast<int>(event.data.u64 & 0xffffffffu);
    const auto found = watched_.find(fd);
    if (found == watched_.end() || key_of(fd, found->second) != event.data.u64) continue;
    const bool broken = (event.events & (EPOLLERR | EPOLLHUP)) != 0;
    const bool ended = broken || (event.events & EPOLLRDHUP) != 0;  // the end is read after the last bytes
    const bool taken =
        ready_(fd, broken || (event.events & EPOLLIN) != 0, broken || (event.events & EPOLLOUT) != 0);
    if (alive.expired()) return true;
    all = all && taken && !ended;
  }
  return all;
}

}  // namespace millrace::net

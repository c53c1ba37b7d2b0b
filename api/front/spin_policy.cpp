#include "api/front/spin_policy.h"

#include <algorithm>
#include <cstdint>

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace millrace::front {

void SpinPolicy::turn(std::size_t events, Clock::duration waited) {
  const bool is_short = events <= kFewEvents && waited < most_;
  short_waits_ = is_short ? std::min(short_waits_ + 1, kShortWaits) : 0;
}

void SpinPolicy::on_descheduled(Clock::time_point now, Clock::duration how_long) {
  if (how_long > kDescheduledMax) no_spin_until_ = now + kYieldPeriod;
}

bool SpinPolicy::may_wait(Clock::time_point now, std::size_t under_way) const {
  return waits_are_short() && under_way <= kFewEvents && now >= no_spin_until_;
}

namespace {

using Clock = SpinPolicy::Clock;

}  // namespace

SpinWait::SpinWait(std::chrono::microseconds most)
    : policy_(most), set_(most > most.zero() ? ::epoll_create1(EPOLL_CLOEXEC) : -1) {
  recent_clients_.fill(~std::uint64_t{0});
}

SpinWait::~SpinWait() {
  if (set_ >= 0) ::close(set_);
}

void SpinWait::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (set_ >= 0) ::epoll_ctl(set_, EPOLL_CTL_ADD, fd, &event);
}

void SpinWait::begin_turn(std::size_t events) {
  if (set_ >= 0) policy_.turn(events, Clock::now() - turn_ended_);
}

// If the socket is watched already, nothing changes.
void SpinWait::received(int fd, std::uint64_t id) {
  if (!policy_.waits_are_short() || std::ranges::find(recent_clients_, id) != recent_clients_.end()) return;
  recent_clients_[oldest_] = id;
  oldest_ = (oldest_ + 1) % recent_clients_.size();
  watch(fd);
}

SpinWait::SpinEnd SpinWait::end_turn(std::size_t requests_under_way) {
  if (set_ < 0) return SpinEnd::kNone;
  turn_ended_ = Clock::now();
  return policy_.may_wait(turn_ended_, requests_under_way) ? wait(turn_ended_) : SpinEnd::kNone;
}

// Yields between polls, so that other threads can run on this processor.
SpinWait::SpinEnd SpinWait::wait(Clock::time_point began) {
  Clock::time_point before = began;
  for (;;) {
    epoll_event ready;
    if (::epoll_wait(set_, &ready, 1, 0) != 0) return SpinEnd::kReadable;
    ::sched_yield();
    const Clock::time_point now = Clock::now();
    policy_.on_descheduled(now, now - before);
    if (!policy_.may_wait(now, 0)) return SpinEnd::kYielded;
    if (now - began >= policy_.most()) return SpinEnd::kTimeout;
    before = now;
  }
}

DueSpin::~DueSpin() {
  if (fd_ >= 0) ::close(fd_);
}

int DueSpin::begin() {
  if (fd_ < 0 && most_ > most_.zero()) fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return fd_;
}

void DueSpin::after_turn(bool had_events, bool is_due, Clock::time_point now) {
  if (had_events || !was_due_) since_ = now;
  was_due_ = is_due;
  keep_spinning(fd_ >= 0 && is_due && now - since_ < most_);
}

void DueSpin::keep_spinning(bool on) {
  if (on == spinning_) return;
  spinning_ = on;
  std::uint64_t count = 1;
  if (on) {
    [[maybe_unused]] const auto written = ::write(fd_, &count, sizeof count);
  } else {
    [[maybe_unused]] const auto got = ::read(fd_, &count, sizeof count);
  }
}

}  // namespace millrace::front

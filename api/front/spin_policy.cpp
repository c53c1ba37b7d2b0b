#include "api/front/spin_policy.h"

#include <algorithm>
#include <cstdint>

#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace millrace::front {

void SpinPolicy::turn(std::size_t events, Clock::duration rest) {
  const bool is_short = events <= kFewEvents && rest < most_;
  short_rests_ = is_short ? std::min(short_rests_ + 1, kShortRests) : 0;
}

void SpinPolicy::was_away(Clock::time_point now, Clock::duration how_long) {
  if (how_long > kDescheduledMax) left_until_ = now + kYieldPeriod;
}

bool SpinPolicy::may_wait(Clock::time_point now, std::size_t under_way) const {
  return rests_are_short() && under_way <= kFewEvents && now >= left_until_;
}

namespace {

using Clock = SpinPolicy::Clock;

}  // namespace

SpinWait::SpinWait(std::chrono::microseconds most)
    : judge_(most), set_(most > most.zero() ? ::epoll_create1(EPOLL_CLOEXEC) : -1) {
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

void SpinWait::turn_begins(std::size_t events) {
  if (set_ >= 0) judge_.turn(events, Clock::now() - turn_ended_);
}

// If the socket is watched already, nothing changes.
void SpinWait::received(int fd, std::uint64_t id) {
  if (!judge_.rests_are_short() || std::ranges::find(recent_clients_, id) != recent_clients_.end()) return;
  recent_clients_[oldest_] = id;
  oldest_ = (oldest_ + 1) % recent_clients_.size();
  watch(fd);
}

SpinWait::Rest SpinWait::turn_ends(std::size_t requests_under_way) {
  if (set_ < 0) return Rest::kNone;
  turn_ended_ = Clock::now();
  return judge_.may_wait(turn_ended_, requests_under_way) ? wait(turn_ended_) : Rest::kNone;
}

// Yields between polls, so that other threads can run on this processor.
SpinWait::Rest SpinWait::wait(Clock::time_point began) {
  Clock::time_point before = began;
  for (;;) {
    epoll_event ready;
    if (::epoll_wait(set_, &ready, 1, 0) != 0) return Rest::kReadable;
    ::sched_yield();
    const Clock::time_point now = Clock::now();
    judge_.was_away(now, now - before);
    if (!judge_.may_wait(now, 0)) return Rest::kLeftToOthers;
    if (now - began >= judge_.most()) return Rest::kLongEnough;
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

void DueSpin::turn_ended(bool had_events, bool is_due, Clock::time_point now) {
  if (had_events || !was_due_) since_ = now;
  was_due_ = is_due;
  keep_spinning(fd_ >= 0 && is_due && now - since_ < most_);
}

void DueSpin::keep_spinning(bool on) {
  if (on == spin_wait_) return;
  spin_wait_ = on;
  std::uint64_t count = 1;
  if (on) {
    [[maybe_unused]] const auto written = ::write(fd_, &count, sizeof count);
  } else {
    [[maybe_unused]] const auto got = ::read(fd_, &count, sizeof count);
  }
}

}  // namespace millrace::front

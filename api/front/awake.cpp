#include "api/front/awake.h"

#include <algorithm>

#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace millrace::front {
namespace {

using Clock = RestJudge::Clock;

}  // namespace

Awake::Awake(std::chrono::microseconds most)
    : judge_(most), set_(most > most.zero() ? ::epoll_create1(EPOLL_CLOEXEC) : -1) {
  heard_.fill(~std::uint64_t{0});
}

Awake::~Awake() {
  if (set_ >= 0) ::close(set_);
}

void Awake::watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (set_ >= 0) ::epoll_ctl(set_, EPOLL_CTL_ADD, fd, &event);
}

void Awake::turn_begins(std::size_t events) {
  if (set_ >= 0) judge_.turn(events, Clock::now() - turn_ended_);
}

// It may be watched already: then this changes nothing.
void Awake::heard(int fd, std::uint64_t id) {
  if (!judge_.rests_are_short() || std::ranges::find(heard_, id) != heard_.end()) return;
  heard_[oldest_] = id;
  oldest_ = (oldest_ + 1) % heard_.size();
  watch(fd);
}

Awake::Rest Awake::turn_ends(std::size_t requests_under_way) {
  if (set_ < 0) return Rest::kNone;
  turn_ended_ = Clock::now();
  return judge_.may_wait(turn_ended_, requests_under_way) ? wait(turn_ended_) : Rest::kNone;
}

// Whoever else can run on this processor does so in between.
Awake::Rest Awake::wait(Clock::time_point began) {
  Clock::time_point before = began;
  for (;;) {
    epoll_event ready;
    if (::epoll_wait(set_, &ready, 1, 0) != 0) return Rest::kHeard;
    ::sched_yield();
    const Clock::time_point now = Clock::now();
    judge_.was_away(now, now - before);
    if (!judge_.may_wait(now, 0)) return Rest::kLeftToOthers;
    if (now - began >= judge_.most()) return Rest::kLongEnough;
    before = now;
  }
}

}  // namespace millrace::front

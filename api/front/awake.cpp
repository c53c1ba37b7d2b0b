#include "api/front/awake.h"

#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace millrace::front {
namespace {

using Clock = RestJudge::Clock;

}  // namespace

Awake::Awake(std::chrono::microseconds most)
    : judge_(most), set_(most > most.zero() ? ::epoll_create1(EPOLL_CLOEXEC) : -1) {}

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
  if (id == last_heard_ || !judge_.rests_are_short()) return;
  last_heard_ = id;
  watch(fd);
}

void Awake::turn_ends(std::size_t requests_under_way) {
  if (set_ < 0) return;
  turn_ended_ = Clock::now();
  if (judge_.may_wait(turn_ended_, requests_under_way)) wait(turn_ended_);
}

// Whoever else can run on this processor does so in between.
void Awake::wait(Clock::time_point began) {
  Clock::time_point before = began;
  for (;;) {
    epoll_event ready;
    if (::epoll_wait(set_, &ready, 1, 0) != 0) return;
    ::sched_yield();
    const Clock::time_point now = Clock::now();
    judge_.was_away(now, now - before);
    if (now - began >= judge_.most() || !judge_.may_wait(now, 0)) return;
    before = now;
  }
}

}  // namespace millrace::front

#include "machines/sshd_starts.h"

#include <system_error>
#include <utility>

#include <pthread.h>

namespace millrace::machines {
SshdStarts::~SshdStarts() {
  std::unique_lock lock(mutex_);
  for (Start& start : starts_) start.stop.kill();
  std::list<Start> ending = std::move(starts_);
  lock.unlock();
}

// Their threads are at their last step, or past it: to join them does not block.
bool SshdStarts::full() {
  std::list<Start> over;
  const std::lock_guard lock(mutex_);
  for (auto each = starts_.begin(); each != starts_.end();) {
    const auto start = each++;
    if (start->over) over.splice(over.end(), starts_, start);
  }
  return starts_.size() >= static_cast<std::size_t>(starts_max_);
}

base::Status SshdStarts::begin(const base::Uuid& machine, std::function<void(const StopSwitch& stop)> start) {
  const std::lock_guard lock(mutex_);
  Start& begun = starts_.emplace_back();
  begun.machine = machine;
  try {
    if (begun.stop.fd() >= 0) {
      begun.thread = std::jthread([this, &begun, act = std::move(start)] { run(begun, act); });
      return {};
    }
  } catch (const std::system_error&) {
  }
  starts_.pop_back();
  return base::error(base::Code::kOverloaded, "no thread or file descriptor is left: raise `ulimit -u -n`");
}

void SshdStarts::run(Start& start, const std::function<void(const StopSwitch& stop)>& act) {
  pthread_setname_np(pthread_self(), "sshd start");
  act(start.stop);
  {
    const std::lock_guard lock(mutex_);
    start.over = true;
  }
  on_end_();
}

void SshdStarts::stop(const base::Uuid& machine) {
  const std::lock_guard lock(mutex_);
  for (Start& start : starts_) {
    if (start.machine == machine) start.stop.kill();
  }
}

}  // namespace millrace::machines

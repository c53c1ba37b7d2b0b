#include "storage/announcer.h"

#include <cstdint>
#include <exception>
#include <utility>

#include <sys/eventfd.h>
#include <unistd.h>

#include "platform/base/log.h"

namespace millrace::storage {
namespace {

// Callbacks must not throw. If one throws, the others still run.
template <class F>
void guarded(const char* what, F&& f) {
  try {
    f();
  } catch (const std::exception& e) {
    base::log_error("store_callback_threw", {{"callback", what}, {"error", e.what()}});
  }
}

}  // namespace

Announcer::Announcer(Finished finished, std::chrono::milliseconds patience)
    : finished_(std::move(finished)), patience_(patience), thread_([this] { run(); }) {}

Announcer::~Announcer() {
  close();
  if (bell_ >= 0) ::close(bell_);
}

void Announcer::close() {
  {
    Lock lock(mutex_);
    closed_ = true;
    ready_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

int Announcer::lend() {
  Lock lock(mutex_);
  if (bell_ < 0) bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  shared_ = bell_ >= 0;
  return bell_;
}

void Announcer::return_lent() {
  Lock lock(mutex_);
  shared_ = false;
  if (left_until_.has_value()) wake();
  left_until_.reset();
}

void Announcer::announce(Announcement announcement) {
  Lock lock(mutex_);
  const bool is_left = shared_ && announcement.answers.size() >= kManyAnswers && !announcement.commit.empty();
  const bool is_first = queue_.empty();
  queue_.push_back(std::move(announcement));
  if (delivering_) return;  // the thread that is running completions continues
  if (ended_) return deliver_all(lock);
  if (!is_left) {
    left_until_.reset();
    return wake();
  }
  if (!is_first) return;
  left_until_ = Clock::now() + patience_;
  if (sleep_ == Sleep::kUntilWoken) wake();  // from now on it sleeps until `shared_until_` at most
  const int bell = bell_;
  lock.unlock();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(bell, &one, sizeof one);
}

void Announcer::take_lent() {
  std::uint64_t rung = 0;
  [[maybe_unused]] const auto got = ::read(bell_, &rung, sizeof rung);
  Lock lock(mutex_);
  for (int rounds = 0; rounds < kLentRounds && !queue_.empty() && !delivering_; ++rounds)
    deliver_queued(lock);
  if (closed_ || !queue_.empty()) wake();
}

void Announcer::run() {
  Lock lock(mutex_);
  while (true) {
    while (!is_due() && !(closed_ && queue_.empty() && !delivering_)) sleep(lock);
    if (queue_.empty()) break;
    deliver_queued(lock);
  }
  ended_ = true;
}

// Whether the completion thread has to run now.
bool Announcer::is_due() const {
  if (queue_.empty() || delivering_) return false;
  return closed_ || !left_until_ || Clock::now() >= *left_until_;
}

void Announcer::sleep(Lock& lock) {
  sleep_ = left_until_ ? Sleep::kUntilTime : Sleep::kUntilWoken;
  if (left_until_) {
    const Clock::time_point until = *left_until_;
    ready_.wait_until(lock, until);
  } else {
    ready_.wait(lock);
  }
  sleep_ = Sleep::kNone;
}

void Announcer::wake() {
  if (std::exchange(sleep_, Sleep::kNone) != Sleep::kNone) ready_.notify_one();
}

void Announcer::deliver_all(Lock& lock) {
  while (!queue_.empty()) deliver_queued(lock);
}

void Announcer::deliver_queued(Lock& lock) {
  delivering_ = true;
  left_until_.reset();
  std::swap(batch_, queue_);
  lock.unlock();
  for (Announcement& announcement : batch_) deliver(announcement);
  batch_.clear();
  lock.lock();
  delivering_ = false;
}

void Announcer::deliver(Announcement& announcement) {
  {
    const auto scope = scope_ ? scope_() : nullptr;
    for (Announcement::Answer& answer : announcement.answers) {
      guarded("completion", [&] { answer.operation.done(std::move(answer.status)); });
    }
  }
  finished_(announcement.answers.size());
  if (hook_ && !announcement.commit.empty()) guarded("commit hook", [&] { hook_(announcement.commit); });
}

}  // namespace millrace::storage

#include "storage/writer/completion_dispatcher.h"

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
    base::log_error("store_callback_failed", {{"callback", what}, {"error", e.what()}});
  }
}

}  // namespace

CompletionDispatcher::CompletionDispatcher(Finished finished, std::chrono::milliseconds shared_timeout)
    : finished_(std::move(finished)), shared_timeout_(shared_timeout), thread_([this] { run(); }) {}

CompletionDispatcher::~CompletionDispatcher() {
  close();
  if (event_fd_ >= 0) ::close(event_fd_);
}

void CompletionDispatcher::close() {
  {
    Lock lock(mutex_);
    closed_ = true;
    ready_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

int CompletionDispatcher::share() {
  Lock lock(mutex_);
  if (event_fd_ < 0) event_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  shared_ = event_fd_ >= 0;
  return event_fd_;
}

void CompletionDispatcher::stop_sharing() {
  Lock lock(mutex_);
  shared_ = false;
  if (shared_until_.has_value()) wake();
  shared_until_.reset();
}

void CompletionDispatcher::dispatch(CompletedGroup completed) {
  Lock lock(mutex_);
  const bool is_shared = shared_ && completed.outcomes.size() >= kSharedGroupMin && !completed.commit.empty();
  const bool is_first = queue_.empty();
  queue_.push_back(std::move(completed));
  if (delivering_) return;  // the thread that is running completions continues
  if (ended_) return deliver_all(lock);
  if (!is_shared) {
    shared_until_.reset();
    return wake();
  }
  if (!is_first) return;
  shared_until_ = Clock::now() + shared_timeout_;
  if (sleep_ == Sleep::kUntilWoken) wake();  // from now on it sleeps until `shared_until_` at most
  const int event_fd = event_fd_;
  lock.unlock();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_fd, &one, sizeof one);
}

void CompletionDispatcher::run_shared() {
  std::uint64_t signals = 0;
  [[maybe_unused]] const auto got = ::read(event_fd_, &signals, sizeof signals);
  Lock lock(mutex_);
  for (int rounds = 0; rounds < kSharedRoundsMax && !queue_.empty() && !delivering_; ++rounds)
    deliver_queued(lock);
  if (closed_ || !queue_.empty()) wake();
}

void CompletionDispatcher::run() {
  Lock lock(mutex_);
  while (true) {
    while (!is_due() && !(closed_ && queue_.empty() && !delivering_)) sleep(lock);
    if (queue_.empty()) break;
    deliver_queued(lock);
  }
  ended_ = true;
}

// Whether the completion thread has to run now.
bool CompletionDispatcher::is_due() const {
  if (queue_.empty() || delivering_) return false;
  return closed_ || !shared_until_ || Clock::now() >= *shared_until_;
}

void CompletionDispatcher::sleep(Lock& lock) {
  sleep_ = shared_until_ ? Sleep::kUntilTime : Sleep::kUntilWoken;
  if (shared_until_) {
    const Clock::time_point until = *shared_until_;
    ready_.wait_until(lock, until);
  } else {
    ready_.wait(lock);
  }
  sleep_ = Sleep::kNone;
}

void CompletionDispatcher::wake() {
  if (std::exchange(sleep_, Sleep::kNone) != Sleep::kNone) ready_.notify_one();
}

void CompletionDispatcher::deliver_all(Lock& lock) {
  while (!queue_.empty()) deliver_queued(lock);
}

void CompletionDispatcher::deliver_queued(Lock& lock) {
  delivering_ = true;
  shared_until_.reset();
  std::swap(batch_, queue_);
  lock.unlock();
  for (CompletedGroup& completed : batch_) deliver(completed);
  batch_.clear();
  lock.lock();
  delivering_ = false;
}

void CompletionDispatcher::deliver(CompletedGroup& completed) {
  {
    const auto scope = scope_ ? scope_() : nullptr;
    for (CompletedGroup::Outcome& outcome : completed.outcomes) {
      guarded("completion", [&] { outcome.operation.done(std::move(outcome.status)); });
    }
  }
  finished_(completed.outcomes.size());
  if (hook_ && !completed.commit.empty()) guarded("commit hook", [&] { hook_(completed.commit); });
}

}  // namespace millrace::storage

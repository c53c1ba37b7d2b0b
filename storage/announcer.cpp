#include "storage/announcer.h"

#include <exception>
#include <utility>

#include "platform/base/log.h"

namespace millrace::storage {
namespace {

// What callers hand us must not throw; if it does, the others are still told.
template <class F>
void guarded(const char* what, F&& f) {
  try {
    f();
  } catch (const std::exception& e) {
    base::log_error("store_callback_threw", {{"callback", what}, {"error", e.what()}});
  }
}

}  // namespace

Announcer::Announcer(Finished finished) : finished_(std::move(finished)), thread_([this] { run(); }) {}

void Announcer::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    ready_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Announcer::announce(Announcement announcement) {
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(announcement));
  if (std::exchange(waiting_, false)) ready_.notify_one();
}

void Announcer::run() {
  std::vector<Announcement> batch;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      while (queue_.empty() && !closed_) {
        waiting_ = true;
        ready_.wait(lock);
      }
      waiting_ = false;
      if (queue_.empty()) return;
      std::swap(batch, queue_);
    }
    for (Announcement& announcement : batch) deliver(announcement);
    batch.clear();
  }
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

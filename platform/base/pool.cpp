#include "platform/base/pool.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "platform/base/log.h"

namespace millrace::base {

Pool::Pool(Options options) : options_(options) {
  const unsigned count = std::max(1U, options_.threads);
  threads_.reserve(count);
  for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this] { run(); });
}

Pool::~Pool() { close(); }

bool Pool::post(Queue queue, std::function<void()> task) {
  return put(queue, std::move(task), options_.queue_max);
}

bool Pool::post_reply(Queue queue, std::function<void()> task) {
  return put(queue, std::move(task), std::numeric_limits<std::size_t>::max());
}

bool Pool::put(Queue queue, std::function<void()> task, std::size_t max) {
  {
    std::lock_guard lock(mutex_);
    auto& tasks = queue == Queue::kQuick ? quick_ : large_;
    if (closed_ || tasks.size() >= max) return false;
    tasks.push_back(std::move(task));
  }
  ready_.notify_one();
  return true;
}

void Pool::close() {
  std::vector<std::jthread> threads;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    threads.swap(threads_);
  }
  ready_.notify_all();
}

namespace {

// Tasks must not throw. If one does (out of memory, an exception of a library), it is logged and the pool
// continues.
void run_task(const std::function<void()>& task) {
  try {
    task();
  } catch (const std::exception& e) {
    log_error("pool_task_failed", {{"what", e.what()}});
  }
}

}  // namespace

bool Pool::has_large() const { return !large_.empty() && large_running_ < options_.large_max; }

void Pool::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ready_.wait(lock, [this] { return closed_ || !quick_.empty() || has_large(); });
    const bool large = quick_.empty();
    if (large && !has_large()) return;
    auto& tasks = large ? large_ : quick_;
    std::function<void()> task = std::move(tasks.front());
    tasks.pop_front();
    if (large) ++large_running_;
    lock.unlock();
    run_task(task);
    task = nullptr;
    lock.lock();
    if (large) --large_running_;
    if (large && has_large()) ready_.notify_one();
  }
}

}  // namespace millrace::base

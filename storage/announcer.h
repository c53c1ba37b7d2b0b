#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/operation_queue.h"

namespace millrace::storage {

// A group whose outcome is known: completions in order, and what it did if it was committed.
struct Announcement {
  struct Answer {
    Queued operation;  // what it holds is given back on the announce thread, too
    base::Status status;
  };
  std::vector<Answer> answers;
  Commit commit;
};

// The announce thread (architecture.md §6): completions, then the commit hook, group by group. Its queue is
// bounded by the operation queue, which counts what is not announced yet.
class Announcer {
 public:
  using Finished = std::function<void(std::size_t operations)>;

  // `finished` is told how many completions have run. A bound on time is the completions' own duty.
  explicit Announcer(Finished finished);
  ~Announcer() { close(); }

  // Before the first group.
  void on_commit(std::function<void(const Commit&)> hook) { hook_ = std::move(hook); }
  // Before the first group. What `scope` returns lives while the completions of one group run.
  void announce_within(std::function<std::shared_ptr<void>()> scope) { scope_ = std::move(scope); }
  void announce(Announcement announcement);
  // Runs what is queued, then joins. Idempotent; not from a completion.
  void close();

 private:
  void run();
  void deliver(Announcement& announcement);

  Finished finished_;
  std::function<void(const Commit&)> hook_;
  std::function<std::shared_ptr<void>()> scope_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<Announcement> queue_;
  bool waiting_ = false;
  bool closed_ = false;
  std::jthread thread_;
};

}  // namespace millrace::storage

#include <string>
#include <utility>

#include "storage/failures.h"
#include "storage/group_writer.h"

namespace millrace::storage {
namespace {

constexpr std::chrono::seconds kWriteAgain{2};

}  // namespace

GroupWriter::GroupWriter(Options options, const base::Clock& clock, Turnstile& turnstile,
                         const FailureFlag& failure, HealthBoard& health, std::function<void(int)> committed)
    : options_(std::move(options)),
      turnstile_(turnstile),
      failure_(failure),
      health_(health),
      committed_(std::move(committed)),
      queue_(options_.queue_max),
      announcer_([this](std::size_t count) { queue_.finished(count); }),
      clocks_(clock.wall(), clock.boot()),
      db_({.path = options_.database}),
      context_{db_, queue_, clocks_, clock, clock.boot_id(), options_.limits},
      thread_([this] { run(); }) {}

GroupWriter::~GroupWriter() { close(std::chrono::milliseconds(0)); }

void GroupWriter::submit(Priority priority, std::size_t payload_bytes, Operation operation, Completion done) {
  if (const auto why = refusal(priority)) return done(overloaded(*why, kWriteAgain));
  Queued queued{priority, payload_bytes, std::move(operation), std::move(done)};
  switch (queue_.push(queued)) {
    case OperationQueue::Push::kTaken:
      return;
    case OperationQueue::Push::kFull:
      return queued.done(overloaded("the store's queue is full (store.queue_max)", kWriteAgain));
    case OperationQueue::Push::kClosed:
      return queued.done(overloaded("the gateway is shutting down", kWriteAgain));
  }
}

std::optional<std::string> GroupWriter::refusal(Priority priority) const {
  if (priority == Priority::kUrgent) return std::nullopt;
  if (health_.degraded()) return "the store waits for another process";
  if (priority == Priority::kAsked || !health_.disk_low()) return std::nullopt;
  return "the disk of the data directory is nearly full: less than store.disk_free_min is free. Try again "
         "later; the gateway's operator has to make room";
}

void GroupWriter::run() {
  while (queue_.wait()) {
    if (!turnstile_.acquire()) {
      refuse(queue_.withdraw_all(), "the gateway is shutting down");
      continue;
    }
    if (health_.degraded()) health_.clear_degraded();
    run_group();
  }
  refuse_standing();
  std::lock_guard lock(mutex_);
  ended_ = true;
  end_.notify_all();
}

void GroupWriter::run_group() {
  const auto begun = std::chrono::steady_clock::now();
  Group group(context_);
  const bool first_try = group.run();
  failure_.end_if_set();  // do not report success after a sync failed in another process
  turnstile_.release();
  if (group.size() == 0) return;  // all were withdrawn while this process waited for the lock
  count(group, first_try, std::chrono::steady_clock::now() - begun);
  Announcement announcement = group.announcement();
  standing_ = context_.standing.size();
  announcer_.announce(std::move(announcement));
  committed_(db_.log_frames());
}

void GroupWriter::count(const Group& group, bool first_try, std::chrono::steady_clock::duration took) {
  const std::chrono::duration<double> seconds = took;
  if (watch_) watch_(group.size(), seconds);
  std::lock_guard lock(mutex_);
  ++counts_.groups;
  counts_.operations += group.size();
  counts_.failed_groups += first_try ? 0 : 1;
  counts_.commit_seconds_max = std::max(counts_.commit_seconds_max, seconds.count());
}

GroupWriter::Counts GroupWriter::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

void GroupWriter::withdraw(const std::string& why) { refuse(queue_.withdraw_not_urgent(), why); }

void GroupWriter::refuse(std::vector<Queued> operations, const std::string& why) {
  if (operations.empty()) return;
  Announcement announcement;
  for (Queued& queued : operations)
    announcement.answers.push_back({std::move(queued), overloaded(why, kWriteAgain)});
  announcer_.announce(std::move(announcement));
}

void GroupWriter::refuse_standing() {
  std::vector<Queued> orders;
  orders.reserve(context_.standing.size());
  for (Standing& standing : context_.standing) orders.push_back(std::move(standing.order));
  context_.standing.clear();
  refuse(std::move(orders), "the gateway is shutting down");
}

void GroupWriter::close(std::chrono::milliseconds patience) {
  queue_.close();
  {
    std::unique_lock lock(mutex_);
    end_.wait_for(lock, patience, [this] { return ended_; });
  }
  turnstile_.interrupt();
  if (thread_.joinable()) thread_.join();
  announcer_.close();
}

}  // namespace millrace::storage

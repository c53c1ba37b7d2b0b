#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <mutex>

#include "bus/bus.h"
#include "jobs/feed.h"
#include "jobs/waiters.h"
#include "storage/jobs/job_maintenance.h"
#include "storage/store.h"

namespace millrace::jobs {

// From the store's commit hook to the world: tokens to Dispatch (clearing the outbox on delivery reports),
// hints to Events and to this process's waiters, and to its worker which jobs are to stop. Runs on the
// announce thread: never blocks (docs/design/delivery.md; docs/design/architecture.md §2). Must outlive the
// store's announce thread and the bus.
class OutboxPublisher {
 public:
  // What upkeep wants to hear: something happened; `delayed`: and a job was queued that is not ready yet (a
  // retry, or outside the window). On the announce thread or the bus's own: ≤ 10 µs.
  using Nudge = std::function<void(bool delayed)>;

  OutboxPublisher(storage::Store& store, bus::Dispatch& dispatch, bus::Events& events, Waiters& waiters);
  // Before `start`.
  void on_activity(Nudge nudge) { nudge_ = std::move(nudge); }
  // Every change that this process makes or hears of goes to `feed`, too. Before `start`; it outlives this.
  void set_feed(Feed& feed) { feed_ = &feed; }
  // What this process's worker is to hear: a running job, its own or not, was asked to stop, by whatever
  // move, so that it need not wait for its next heartbeat. More than once for some. On the announce thread:
  // ≤ 10 µs, and it calls nothing here. May be set at any time.
  using OnCancel = std::function<void(const schemas::JobId&)>;
  void on_cancel_request(OnCancel callback);
  // Sets the commit hook, subscribes to Events, publishes again what an earlier process left in the outbox.
  // Before the store's first move and before Events::start.
  void start();
  // More of the backlog may be published: after a claim or finish freed room, on a timer, after the bus came
  // back. Without an outbox there is no backlog and nothing happens. Any thread, never blocks.
  void pump(schemas::Kind kind);

 private:
  // The backlog of one kind as this process knows it.
  struct Line {
    std::atomic<int> empty_looks_left{0};  // > 0: more may wait outside the window
    std::atomic<bool> pumping{false};      // at most one move under way
    std::atomic<bool> again{false};        // asked for meanwhile
  };
  Line& line(schemas::Kind kind);
  void on_commit(const storage::Commit& commit);
  void notify(const schemas::JobChange& change);
  void publish(const storage::Ready& ready);
  void notify_worker(const storage::Commit& commit);
  void look_for_capacity(const storage::Commit& commit);
  void pumped(schemas::Kind kind, bool found);

  storage::Store& store_;
  bus::Dispatch& dispatch_;
  bus::Events& events_;
  Waiters& waiters_;
  storage::JobMaintenance maintenance_;
  Nudge nudge_;
  Feed* feed_ = nullptr;
  std::mutex mutex_;  // guards hear_
  OnCancel on_cancel_;
  std::array<Line, schemas::kKinds.size()> lines_;
};

}  // namespace millrace::jobs

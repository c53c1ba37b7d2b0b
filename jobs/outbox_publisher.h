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

// Publishes each commit of the store: tokens to Dispatch (delivery reports clear the outbox), hints to Events
// and to this process's waiters, and cancel requests to this process's worker. Runs on the completion thread
// and never blocks (docs/design/delivery.md; docs/design/architecture.md §2). Must outlive the store's
// completion thread and the bus.
class OutboxPublisher {
 public:
  // Notifies maintenance that something changed. `delayed`: a job was queued that is not ready yet (a retry,
  // or outside the window). Called on the completion thread or on the bus's thread: ≤ 10 µs.
  using ActivityHook = std::function<void(bool delayed)>;

  OutboxPublisher(storage::Store& store, bus::Dispatch& dispatch, bus::Events& events, Waiters& waiters);
  // Called before `start`.
  void on_activity(ActivityHook hook) { activity_hook_ = std::move(hook); }
  // Every change that this process makes or receives also goes to `feed`, which must outlive this. Called
  // before `start`.
  void set_feed(Feed& feed) { feed_ = &feed; }
  // Called for each running job whose cancellation was committed here. Its worker may be in another process;
  // that one learns it from its heartbeat. May be called more than once per job. Called on the completion
  // thread: ≤ 10 µs; it must not call this object. May be set at any time.
  using OnCancel = std::function<void(const schemas::JobId&)>;
  void on_cancel_request(OnCancel callback);
  // Called for each commit with new deliveries of webhooks, in the same way.
  void on_webhooks(std::function<void()> callback);
  // Sets the commit hook, subscribes to Events, and republishes the tokens that an earlier process left in
  // the outbox. Called before the store's first write and before Events::start.
  void start();
  // Publishes more of the backlog if the window allows it. Called after a claim or a finished job has freed
  // capacity, on a timer, and after the bus has recovered. Does nothing without an outbox. Any thread; never
  // blocks.
  void publish_backlog(schemas::Kind kind);

 private:
  // This process's view of one kind's backlog.
  struct KindState {
    std::atomic<int> empty_polls_left{0};    // > 0: there may be more jobs outside the window
    std::atomic<bool> publishing{false};     // at most one transaction at a time
    std::atomic<bool> publish_again{false};  // requested while publishing
  };
  KindState& state_of(schemas::Kind kind);
  void on_commit(const storage::Commit& commit);
  void notify(const schemas::JobChange& change);
  void publish(const storage::ReadyJob& ready);
  void notify_worker(const storage::Commit& commit);
  void notify_webhooks(const storage::Commit& commit);
  void check_capacity(const storage::Commit& commit);
  void backlog_published(schemas::Kind kind, bool found);

  storage::Store& store_;
  bus::Dispatch& dispatch_;
  bus::Events& events_;
  Waiters& waiters_;
  storage::JobMaintenance maintenance_;
  ActivityHook activity_hook_;
  Feed* feed_ = nullptr;
  std::mutex mutex_;  // guards the next two
  OnCancel on_cancel_;
  std::function<void()> on_webhooks_;
  std::array<KindState, schemas::kKinds.size()> kind_states_;
};

}  // namespace millrace::jobs

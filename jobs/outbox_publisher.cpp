#include "jobs/outbox_publisher.h"

#include <algorithm>
#include <set>
#include <utility>

namespace millrace::jobs {
namespace {

constexpr int kRepublishMax = 1024;  // tokens that an earlier process may have left in the outbox
// A read that finds nothing: the backlog is empty, or the window is full (it shrinks as slots fill). After
// this many empty reads in a row, only the timer and newly queued jobs cause another read.
constexpr int kEmptyPollsMax = 64;

std::set<schemas::Kind> kinds_of(const std::vector<storage::ReadyJob>& jobs) {
  std::set<schemas::Kind> kinds;
  for (const storage::ReadyJob& job : jobs) kinds.insert(job.job.kind);
  return kinds;
}

}  // namespace

OutboxPublisher::OutboxPublisher(storage::Store& store, bus::Dispatch& dispatch, bus::Events& events,
                                 Waiters& waiters)
    : store_(store), dispatch_(dispatch), events_(events), waiters_(waiters), maintenance_(store) {}

void OutboxPublisher::start() {
  events_.subscribe([this](const schemas::JobChange& change) {
    notify(change);
    if (activity_hook_) activity_hook_(false);
  });
  store_.on_commit([this](const storage::Commit& commit) { on_commit(commit); });
  if (!dispatch_.durable()) return;
  for (KindState& state : kind_states_) state.empty_polls_left = kEmptyPollsMax;
  // The commit hook receives and publishes them.
  maintenance_.republish_outbox(kRepublishMax, [](auto&&) {});
}

void OutboxPublisher::on_cancel_request(OnCancel callback) {
  const std::lock_guard lock(mutex_);
  on_cancel_ = std::move(callback);
}

void OutboxPublisher::on_webhooks(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  on_webhooks_ = std::move(callback);
}

OutboxPublisher::KindState& OutboxPublisher::state_of(schemas::Kind kind) {
  const auto at = std::find(schemas::kKinds.begin(), schemas::kKinds.end(), kind);
  return kind_states_.at(static_cast<std::size_t>(at - schemas::kKinds.begin()));
}

void OutboxPublisher::on_commit(const storage::Commit& commit) {
  notify_worker(commit);
  notify_webhooks(commit);
  for (const storage::ReadyJob& ready : commit.ready) publish(ready);
  for (const schemas::Kind kind : kinds_of(commit.ready)) events_.publish_queued(kind);
  for (const schemas::JobChange& change : commit.changes) {
    notify(change);
    events_.publish(change);
  }
  if (dispatch_.durable()) check_capacity(commit);
  if (!activity_hook_) return;
  const auto queued =
      std::count_if(commit.changes.begin(), commit.changes.end(),
                    [](const schemas::JobChange& c) { return c.status == schemas::JobStatus::kQueued; });
  activity_hook_(static_cast<std::size_t>(queued) > commit.ready.size());
}

void OutboxPublisher::notify_worker(const storage::Commit& commit) {
  if (commit.cancel_requests.empty()) return;
  const std::lock_guard lock(mutex_);
  if (!on_cancel_) return;
  for (const schemas::JobId& job : commit.cancel_requests) on_cancel_(job);
}

void OutboxPublisher::notify_webhooks(const storage::Commit& commit) {
  if (!commit.has_webhooks) return;
  const std::lock_guard lock(mutex_);
  if (on_webhooks_) on_webhooks_();
}

// Waiters of this process are notified directly. When the bus delivers the same change, they ignore it,
// because they already have its version.
void OutboxPublisher::notify(const schemas::JobChange& change) {
  waiters_.on_change(change.job, change.version, change.status);
  if (feed_ != nullptr) feed_->on_change(change);
}

void OutboxPublisher::publish(const storage::ReadyJob& ready) {
  bus::Token token{ready.job, ready.epoch, ready.tenant, ready.traceparent};
  if (!dispatch_.durable()) return dispatch_.publish(std::move(token), [](const base::Status&) {});
  dispatch_.publish(std::move(token),
                    [this, job = ready.job, epoch = ready.epoch](const base::Status& delivered) {
                      // If the write queue is full, the row stays marked, and maintenance republishes it.
                      maintenance_.record_publication(job, epoch, delivered.has_value(), [](auto&&) {});
                    });
}

// A change to `queued` may leave a job outside the window: more reads of the backlog are worthwhile. Any
// other change may have freed a slot of the window: read the backlog now.
void OutboxPublisher::check_capacity(const storage::Commit& commit) {
  for (const schemas::JobChange& change : commit.changes) {
    KindState& backlog = state_of(change.job.kind);
    if (change.status == schemas::JobStatus::kQueued) {
      backlog.empty_polls_left = kEmptyPollsMax;
    } else if (backlog.empty_polls_left > 0) {
      publish_backlog(change.job.kind);
    }
  }
}

void OutboxPublisher::publish_backlog(schemas::Kind kind) {
  if (!dispatch_.durable()) return;
  KindState& backlog = state_of(kind);
  backlog.publish_again = true;
  if (backlog.publishing.exchange(true)) return;
  backlog.publish_again = false;
  maintenance_.select_for_publication(
      kind, [this, kind](const base::Result<std::vector<storage::ReadyJob>>& selected) {
        backlog_published(kind, selected && !selected->empty());
      });
}

// The commit hook publishes the jobs that were taken.
void OutboxPublisher::backlog_published(schemas::Kind kind, bool found) {
  KindState& backlog = state_of(kind);
  backlog.empty_polls_left = found ? kEmptyPollsMax : std::max(0, backlog.empty_polls_left - 1);
  backlog.publishing = false;
  if (found && backlog.publish_again.exchange(false)) publish_backlog(kind);
}

}  // namespace millrace::jobs

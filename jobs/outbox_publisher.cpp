#include "jobs/outbox_publisher.h"

#include <algorithm>
#include <utility>

namespace millrace::jobs {
namespace {

constexpr int kRepublishMax = 1024;  // tokens that an earlier process may have left in the outbox
// A look into the backlog that brings nothing means that there is none or that the window is still too full
// (it shrinks as slots fill): so many in a row, and only the timer and newly queued jobs make us look again.
constexpr int kEmptyLooksMax = 64;

}  // namespace

OutboxPublisher::OutboxPublisher(storage::Store& store, bus::Dispatch& dispatch, bus::Events& events,
                                 Waiters& waiters)
    : store_(store), dispatch_(dispatch), events_(events), waiters_(waiters), maintenance_(store) {}

void OutboxPublisher::start() {
  events_.subscribe([this](const schemas::JobChange& change) {
    notify(change);
    if (nudge_) nudge_(false);
  });
  store_.on_commit([this](const storage::Commit& commit) { on_commit(commit); });
  if (!dispatch_.durable()) return;
  for (Line& line : lines_) line.empty_looks_left = kEmptyLooksMax;
  // They come back through the commit hook.
  maintenance_.republish_outbox(kRepublishMax, [](auto&&) {});
}

void OutboxPublisher::on_cancel_request(OnCancel callback) {
  const std::lock_guard lock(mutex_);
  on_cancel_ = std::move(callback);
}

OutboxPublisher::Line& OutboxPublisher::line(schemas::Kind kind) {
  const auto at = std::find(schemas::kKinds.begin(), schemas::kKinds.end(), kind);
  return lines_.at(static_cast<std::size_t>(at - schemas::kKinds.begin()));
}

void OutboxPublisher::on_commit(const storage::Commit& commit) {
  notify_worker(commit);
  for (const storage::Ready& ready : commit.ready) publish(ready);
  for (const schemas::JobChange& change : commit.changes) {
    notify(change);
    events_.publish(change);
  }
  if (dispatch_.durable()) look_for_capacity(commit);
  if (!nudge_) return;
  const auto queued =
      std::count_if(commit.changes.begin(), commit.changes.end(),
                    [](const schemas::JobChange& c) { return c.status == schemas::JobStatus::kQueued; });
  nudge_(static_cast<std::size_t>(queued) > commit.ready.size());
}

void OutboxPublisher::notify_worker(const storage::Commit& commit) {
  if (commit.cancel_requests.empty()) return;
  const std::lock_guard lock(mutex_);
  if (!on_cancel_) return;
  for (const schemas::JobId& job : commit.cancel_requests) on_cancel_(job);
}

// Waiters of this process need no bus: when the change comes back from it, they have its version already.
void OutboxPublisher::notify(const schemas::JobChange& change) {
  waiters_.on_change(change.job, change.version, change.status);
  if (feed_ != nullptr) feed_->on_change(change);
}

void OutboxPublisher::publish(const storage::Ready& ready) {
  bus::Token token{ready.job, ready.epoch, ready.tenant, ready.traceparent};
  if (!dispatch_.durable()) return dispatch_.publish(std::move(token), [](const base::Status&) {});
  dispatch_.publish(std::move(token),
                    [this, job = ready.job, epoch = ready.epoch](const base::Status& delivered) {
                      // Not noted (the queue is full): the row stays marked and upkeep publishes it again.
                      maintenance_.publication_done(job, epoch, delivered.has_value(), [](auto&&) {});
                    });
}

// A job that left the window made room for another; one that is queued without being ready waits for room.
void OutboxPublisher::look_for_capacity(const storage::Commit& commit) {
  for (const schemas::JobChange& change : commit.changes) {
    Line& backlog = line(change.job.kind);
    if (change.status == schemas::JobStatus::kQueued) {
      backlog.empty_looks_left = kEmptyLooksMax;
    } else if (backlog.empty_looks_left > 0) {
      pump(change.job.kind);
    }
  }
}

void OutboxPublisher::pump(schemas::Kind kind) {
  if (!dispatch_.durable()) return;
  Line& backlog = line(kind);
  backlog.again = true;
  if (backlog.pumping.exchange(true)) return;
  backlog.again = false;
  maintenance_.take_for_publication(kind,
                                    [this, kind](const base::Result<std::vector<storage::Ready>>& taken) {
                                      pumped(kind, taken && !taken->empty());
                                    });
}

// What was taken travels through the commit hook.
void OutboxPublisher::pumped(schemas::Kind kind, bool found) {
  Line& backlog = line(kind);
  backlog.empty_looks_left = found ? kEmptyLooksMax : std::max(0, backlog.empty_looks_left - 1);
  backlog.pumping = false;
  if (found && backlog.again.exchange(false)) pump(kind);
}

}  // namespace millrace::jobs

#include "api/jobs/job_responder.h"

#include <algorithm>

#include "api/call_key.h"
#include "api/headers.h"
#include "api/jobs/job_result.h"
#include "api/jobs/job_text.h"
#include "jobs/policy.h"
#include "storage/jobs/job_queries.h"

namespace millrace::api {
namespace {

using base::Code;
using schemas::JobId;
using storage::Submitted;

// A wait may end before the job is committed (shutdown, a slow disk). Then the commit sends the response,
// because a response must not name a job that is not on disk. The client may leave before it, too.
constexpr unsigned kCommitted = 1, kWaitEnded = 2, kClientLeft = 4;

// Below that of direct requests, so that these come first.
constexpr int kBatchPriority = -1;

}  // namespace

void JobResponder::reply(front::Reply reply) {
  if (replayed_) add_header(reply, "idempotent-replayed", "true");
  if (!reply_options_.dropped.empty()) add_header(reply, "x-millrace-dropped-params", reply_options_.dropped);
  if (!reply_options_.preferred.empty()) add_header(reply, "preference-applied", reply_options_.preferred);
  call_->reply(std::move(reply));
}

void JobResponder::reply_accepted(const schemas::JobView& job) {
  const JobNames names(job.id, context_.options.public_url);
  front::Reply accepted = json_reply(202, job_json(job, names));
  add_header(accepted, "location", names.url);
  reply(std::move(accepted));
}

// The job as committed, built without reading the store.
schemas::JobView JobResponder::new_job_view(const JobId& id, std::optional<base::WallTime> run_at) const {
  schemas::JobView job;
  job.id = id;
  job.model = model_;
  job.name = reply_options_.name;
  job.metadata = metadata_;
  job.created_at = id.uuid.time();
  job.run_at = run_at;
  job.scheduled = run_at.has_value();
  job.deadline = run_at.value_or(job.created_at) + jobs::policy(id.kind).deadline;
  return job;
}

// REQUIRES: the job is on disk.
void JobResponder::reply_timeout() {
  const std::string id = job_->str();
  call_->set_job_id(id);
  front::Reply late = permanent_failure(
      call_->head().path,
      base::error(Code::kUpstreamTimeout, std::string(reply_options_.subject) +
                                              " takes longer than this request may wait. Job " + id +
                                              " continues: read GET /v1/jobs/" + id + "/result"));
  add_header(late, "location", job_url(*job_, context_.options.public_url));
  reply(std::move(late));
}

// REQUIRES: the job is on disk. Its state may have changed since, and it may be over.
void JobResponder::on_wait_end() {
  const bool client_has_left = (flags_ & kClientLeft) != 0;
  if (reply_options_.on_left && (!reply_options_.waits_on || client_has_left)) {
    reply_options_.on_left(*job_);
    return call_->fail(base::error(
        Code::kOverloaded, std::string(reply_options_.subject) +
                               " was not ready before the request's time or the gateway ended; retry"));
  }
  if (!reply_options_.respond_async) return reply_timeout();
  reply_on_pool(context_, call_, [self = shared_from_this()] {
    self->reply_with_current_state(
        storage::JobQueries(self->context_.store).job(self->call_->tenant(), *self->job_));
  });
}

// Runs on the pool.
void JobResponder::reply_with_current_state(const base::Result<schemas::JobView>& row) {
  if (!row) return call_->fail(row.error());
  if (!schemas::is_terminal(row->status)) return reply_accepted(*row);
  reply_with_result(row->id);
}

// Runs on the pool.
void JobResponder::reply_with_result(const JobId& job) {
  if (reply_options_.on_end) return reply_options_.on_end(job, replayed_);
  send_result(context_, *call_, job, replayed_ ? ReplayState::kReplayed : ReplayState::kFirst,
              reply_options_.dropped);
}

std::shared_ptr<JobWait> JobResponder::wait_for_result(const JobId& job) {
  auto done = [self = shared_from_this(), job](JobWait::End end) {
    if (end != JobWait::End::kTerminal) {
      const bool on_disk = (self->flags_.fetch_or(kWaitEnded) & kCommitted) != 0;
      if (on_disk) self->on_wait_end();
      return;
    }
    reply_on_pool(self->context_, self->call_, [self, job] { self->reply_with_result(job); });
  };
  auto wait = context_.waits.wait(job, 0, reply_options_.wait, std::move(done));
  if (reply_options_.waits_on && !reply_options_.on_left) return wait;
  call_->on_gone([weak = weak_from_this(), weak_wait = std::weak_ptr(wait)] {
    if (const auto self = weak.lock()) self->client_left(weak_wait.lock());
  });
  return wait;
}

void JobResponder::client_left(const std::shared_ptr<JobWait>& wait) {
  const bool on_disk = (flags_.fetch_or(kClientLeft) & kCommitted) != 0;
  if (reply_options_.waits_on) return;
  if (wait) wait->cancel();
  if (on_disk && reply_options_.on_left) reply_options_.on_left(*job_);
}

// An earlier request with this key has created `job`. Sends its result. While it runs: waits for it, or sends
// its state. Runs on the pool.
void JobResponder::reply_from_existing(const JobId& job) {
  const auto wait = waits() ? wait_for_result(job) : nullptr;
  const auto row = storage::JobQueries(context_.store).job(call_->tenant(), job);
  if (wait && row && !schemas::is_terminal(row->status)) return;
  if (wait) wait->cancel();
  reply_with_current_state(row);
}

void JobResponder::submit() {
  const JobId id = context_.submit.new_id(reply_options_.kind);
  submission_.id = id;
  mark_batch_line(context_, *call_, submission_);
  const auto wait = waits() ? wait_for_result(id) : nullptr;
  context_.submit.submit(std::move(submission_),
                         [self = shared_from_this(), id, wait](const base::Result<Submitted>& made) {
                           if (wait && (!made || made->job != id)) wait->cancel();
                           if (!made) return self->call_->fail(made.error());
                           self->committed(*made, id, wait);
                         });
}

void JobResponder::committed(const Submitted& made, const JobId& new_job,
                             const std::shared_ptr<JobWait>& wait) {
  call_->set_job_id(made.job.str());
  job_ = made.job;
  replayed_ = made.replayed;
  const unsigned before = flags_.fetch_or(kCommitted);
  const bool is_left = (before & kClientLeft) != 0 && !reply_options_.waits_on;
  if (is_left && reply_options_.on_left) return reply_options_.on_left(made.job);
  if ((before & kWaitEnded) != 0) return on_wait_end();
  if (reply_options_.stream_progress) return stream_progress(made.job);
  if (!made.replayed) {
    if (!wait) reply_accepted(new_job_view(new_job, made.run_at));
    return;
  }
  reply_on_pool(context_, call_,
                [self = shared_from_this(), job = made.job] { self->reply_from_existing(job); });
}

void JobResponder::stream_progress(const JobId& job) {
  reply_on_pool(context_, call_, [self = shared_from_this(), job] {
    self->reply_options_.stream_progress(job, self->replayed_);
  });
}

void apply_prefer(JobResponder::ReplyOptions& reply_options, const front::Head& head, bool deferred,
                  std::chrono::milliseconds most) {
  const Prefer preference = prefer(head);
  reply_options.respond_async = deferred || preference.respond_async;
  reply_options.wait = reply_options.respond_async ? std::chrono::milliseconds(0) : most;
  if (!preference.wait || preference.wait->count() == 0) return;
  reply_options.wait = std::min<std::chrono::milliseconds>(*preference.wait, most);
  const std::string wait = *preference.wait <= most ? "wait=" + std::to_string(preference.wait->count()) : "";
  const std::string async = preference.respond_async ? "respond-async" : "";
  reply_options.preferred = async + (async.empty() || wait.empty() ? "" : ", ") + wait;
}

base::Result<storage::Submission> submission_of(Call& call,
                                                const std::function<base::Sha256Digest()>& fingerprint) {
  auto key = optional_key(call, fingerprint);
  if (!key) return key.error();
  storage::Submission submission;
  submission.tenant = call.tenant();
  submission.key_id = call.principal->key_id;
  submission.traceparent = traceparent(call.head());
  submission.idempotency = *std::move(key);
  return submission;
}

void mark_batch_line(const Context& context, const Call& call, storage::Submission& submission) {
  if (!call.batch_line) return;
  submission.batch_line = call.batch_line;
  submission.priority = std::min(submission.priority, kBatchPriority);
  const auto rest = call.batch_line->expires_at - context.store.clock().wall();
  submission.deadline_after = std::max(rest, std::chrono::milliseconds(1));
}

base::Status stage_large_spec(storage::Blobs& blobs, storage::Submission& submission) {
  if (submission.spec.size() <= storage::kInlineMax) return {};
  auto blob = storage::stage(blobs, submission.spec);
  if (!blob) return blob.error();
  submission.spec_blob = *std::move(blob);
  submission.spec.clear();
  return {};
}

}  // namespace millrace::api

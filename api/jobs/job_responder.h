#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/call.h"
#include "api/context.h"
#include "api/jobs/job_wait.h"
#include "jobs/job_submitter.h"
#include "platform/base/crypto.h"
#include "schemas/jobs/job.h"

namespace millrace::api {

// The response to a request that creates a job, or joins the job of its Idempotency-Key. 202 with the job: at
// once (respond-async), or when the wait ends. 200 with the result: the job ended in time. 504 with the job's
// id: it did not, and the job continues. A response never names a job that is not on disk. Thread-safe.
class JobResponder : public std::enable_shared_from_this<JobResponder> {
 public:
  struct ReplyOptions {
    schemas::Kind kind = schemas::Kind::kOcr;
    std::string_view subject;           // subject of the 504 message: "The document"
    std::chrono::milliseconds wait{0};  // for the result; 0: no wait
    bool respond_async = false;         // when the wait ends, send 202 with the job instead of 504
    std::string preferred = {};         // preference-applied of a response without the result
    std::string name = {};              // of the job
    std::string dropped = {};           // x-millrace-dropped-params
    // Set: called on the pool once the job is on disk; it sends the response, which streams the job's
    // progress.
    std::function<void(const schemas::JobId& job, bool replayed)> stream_progress = {};
    // Set: called on the pool once the job has ended, instead of sending its result; it sends the response.
    std::function<void(const schemas::JobId& job, bool replayed)> on_end = {};
    // The wait goes on after the client has left, so that `on_end` runs.
    bool waits_on = false;
    // Set: called once the job is on disk when its end is of no use: the client has left, or the wait ends at
    // its time or at shutdown. In the second case the response is 503. With `waits_on`: only when both have
    // happened. On any thread; it must not block.
    std::function<void(const schemas::JobId& job)> on_left = {};
  };

  // `submission`: complete except for its id.
  JobResponder(Context& context, CallPtr call, storage::Submission&& submission, ReplyOptions&& reply_options)
      : context_(context),
        call_(std::move(call)),
        model_(submission.model),
        metadata_(submission.metadata),
        reply_options_(std::move(reply_options)),
        submission_(std::move(submission)) {}

  // Any thread; never blocks. Once.
  void submit();

 private:
  void committed(const storage::Submitted& made, const schemas::JobId& new_job,
                 const std::shared_ptr<JobWait>& wait);
  std::shared_ptr<JobWait> wait_for_result(const schemas::JobId& job);
  void reply_from_existing(const schemas::JobId& job);
  void stream_progress(const schemas::JobId& job);
  void reply(front::Reply reply);
  void reply_accepted(const schemas::JobView& job);
  void reply_with_result(const schemas::JobId& job);
  void reply_timeout();
  void on_wait_end();
  void client_left(const std::shared_ptr<JobWait>& wait);
  void reply_with_current_state(const base::Result<schemas::JobView>& row);
  bool waits() const {
    return (reply_options_.wait.count() > 0 || !reply_options_.respond_async) &&
           !reply_options_.stream_progress;
  }
  schemas::JobView new_job_view(const schemas::JobId& id, std::optional<base::WallTime> run_at) const;

  Context& context_;
  const CallPtr call_;
  const std::string model_, metadata_;
  const ReplyOptions reply_options_;
  storage::Submission submission_;     // moved from by `submit`
  std::optional<schemas::JobId> job_;  // set before kCommitted is
  std::atomic<bool> replayed_{false};  // an earlier request with this key created the job
  std::atomic<unsigned> flags_{0};
};

// Sets the wait of the request from `Prefer` (RFC 7240). Without a preference the wait is `most`, which is
// also its upper bound. `deferred`: the body's equivalent of respond-async.
void apply_prefer(JobResponder::ReplyOptions& reply_options, const front::Head& head, bool deferred,
                  std::chrono::milliseconds most);

// A submission with the values from its request: tenant, traceparent, and the Idempotency-Key bound to
// `fingerprint`, which is called only if there is a key. kBadRequest: the key is malformed.
base::Result<storage::Submission> submission_of(Call& call,
                                                const std::function<base::Sha256Digest()>& fingerprint);
// The job executes the line of the call's batch, if there is one: it runs after direct requests of its
// tenant.
void mark_batch_line(const Context& context, const Call& call, storage::Submission& submission);
// Moves the spec to a blob if it is too large for the job's row. Blocks on the disk.
base::Status stage_large_spec(storage::Blobs& blobs, storage::Submission& submission);

}  // namespace millrace::api

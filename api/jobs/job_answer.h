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
#include "jobs/submit.h"
#include "platform/base/crypto.h"
#include "schemas/jobs/job.h"

namespace millrace::api {

// The answer to a request that makes a job, or joins the one that its Idempotency-Key has made: the job at
// once or after a wait (202), its result when it is over, or 504 naming the job, which goes on. No answer
// names a job that is not on disk. Thread-safe.
class JobAnswer : public std::enable_shared_from_this<JobAnswer> {
 public:
  struct Terms {
    schemas::Kind kind = schemas::Kind::kOcr;
    std::string_view subject;           // of the 504: "The document"
    std::chrono::milliseconds wait{0};  // for the result; 0: not at all
    bool respond_async = false;         // what ends the wait is the job, as it goes on, and no 504
    std::string preferred = {};         // preference-applied of an answer without the result
    std::string name = {};              // of the job
    std::string dropped = {};           // x-millrace-dropped-params
    // Set: it answers instead, with the job as it goes on. On the pool, once the job is on disk.
    std::function<void(const schemas::JobId& job, bool replayed)> follow = {};
  };

  // `order`: everything but its id.
  JobAnswer(Context& context, CallPtr call, storage::Submission&& submission, Terms&& terms)
      : context_(context),
        call_(std::move(call)),
        model_(submission.model),
        terms_(std::move(terms)),
        submission_(std::move(submission)) {}

  // Any thread; never blocks. Once.
  void submit();

 private:
  void committed(const storage::Submitted& made, const schemas::JobId& fresh,
                 const std::shared_ptr<JobWait>& wait);
  std::shared_ptr<JobWait> wait_for_result(const schemas::JobId& job);
  void join(const schemas::JobId& job);
  void follow(const schemas::JobId& job);
  void reply(front::Reply reply);
  void reply_accepted(const schemas::JobView& job);
  void reply_timeout();
  void wait_is_over();
  void reply_as_it_is(const base::Result<schemas::JobView>& row);
  bool waits() const { return (terms_.wait.count() > 0 || !terms_.respond_async) && !terms_.follow; }
  base::Error refusal(const base::Error& error) const;
  schemas::JobView fresh_view(const schemas::JobId& id) const;

  Context& context_;
  const CallPtr call_;
  const std::string model_;
  const Terms terms_;
  storage::Submission submission_;     // moved away by `submit`
  std::optional<schemas::JobId> job_;  // set before kCommitted is
  std::atomic<bool> replayed_{false};  // the key had made the job before
  std::atomic<unsigned> marks_{0};
};

// How long the request waits, and for what: as `Prefer` says (RFC 7240), for `most` where it says nothing and
// never for longer. `deferred`: as respond-async, in the body.
void apply_prefer(JobAnswer::Terms& terms, const front::Head& head, bool deferred,
                  std::chrono::milliseconds most);

// What an order has of its request: tenant, traceparent, and the Idempotency-Key bound to `fingerprint`,
// which is asked for only where there is a key. kBadRequest: the key is malformed.
base::Result<storage::Submission> submission_of(Call& call,
                                                const std::function<base::Sha256Digest()>& fingerprint);

}  // namespace millrace::api

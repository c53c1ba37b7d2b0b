#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "api/call.h"
#include "api/context.h"
#include "api/jobs/job_wait.h"

namespace millrace::api {

// A streamed response that lasts as long as a job. A hint triggers a read of the job's rows; the rows decide
// what is sent. Between events it sends heartbeats. It pauses while the client reads slowly. It ends when
// there is nothing more to send and when the client disconnects. Thread-safe.
class JobStream : public Drainable, public std::enable_shared_from_this<JobStream> {
 public:
  JobStream(Context& context, CallPtr call, const schemas::JobId& job)
      : context_(context), call_(std::move(call)), job_(job) {}

 protected:
  // Calls `poll` at once and after each change above `after_version`, and `send_heartbeat` every `period`.
  // Never blocks.
  void watch(std::int64_t after_version, std::chrono::milliseconds period);
  // No `poll` starts after this. A second call does nothing.
  void over();

  enum class PollResult { kCaughtUp, kMore, kBacklog, kOver };
  // Sends new data. Runs on the pool, one thread at a time. An exception is logged and ends the stream.
  virtual PollResult poll() = 0;
  // Sends an error to the client before the end: a clean end would look like a complete stream.
  virtual void on_poll_exception() { call_->responder().abort(); }
  // False: the client has disconnected. Runs on the loop.
  virtual bool send_heartbeat() = 0;
  // Called at the end of `over`.
  virtual void end_response() {}

  Context& context_;
  const CallPtr call_;
  const schemas::JobId job_;
  std::mutex mutex_;
  bool over_ = false;  // under the mutex

 private:
  void wake();
  void pump();
  PollResult poll_guarded();
  void log_poll_failed();
  void schedule_beat(std::chrono::milliseconds period);

  // Under the mutex:
  bool running_ = false;
  bool again_ = false;
  jobs::Waiters::Subscription subscription_;
  net::Loop::Timer beat_;
};

}  // namespace millrace::api

#pragma once
#include <memory>
#include <mutex>

#include "api/call.h"
#include "api/context.h"
#include "api/events.h"
#include "api/job_wait.h"

namespace millrace::api {

// A job's events as server-sent events: `id` = version, `event` and `data` as `show` says; `ping` in between;
// ends after the terminal event, when the client leaves and at drain. Hints say when to look, the rows say
// what to send. Pauses while the client is slow. Thread-safe.
class EventStream final : public Waiting, public std::enable_shared_from_this<EventStream> {
 public:
  // Starts the answer of `call`: everything after `after_version` is sent. REQUIRES: the job is the caller's.
  static void start(Context& context, CallPtr call, const schemas::JobId& job, std::int64_t after_version,
                    ShowEvent show);

  // How such an answer begins.
  static front::Reply head();

  EventStream(Context& context, CallPtr call, const schemas::JobId& job, std::int64_t after_version,
              ShowEvent show)
      : context_(context), call_(std::move(call)), job_(job), show_(std::move(show)), sent_(after_version) {}
  void drain() override { end(); }

 private:
  void wake();
  void pump();
  // What came of one page of rows.
  enum class Step { kCaughtUp, kMore, kBacklog, kOver };
  Step send_some();
  void schedule_ping();
  void end();

  Context& context_;
  const CallPtr call_;
  const schemas::JobId job_;
  const ShowEvent show_;
  std::int64_t sent_;  // version; only the running pump touches it

  std::mutex mutex_;  // guards all below
  bool running_ = false;
  bool again_ = false;
  bool over_ = false;
  jobs::Waiters::Ticket ticket_;
  net::Loop::Timer ping_;
};

}  // namespace millrace::api

#pragma once
#include "api/events.h"
#include "api/job_stream.h"

namespace millrace::api {

// A job's events as server-sent events: `id` = version, `event` and `data` as `show` says; `ping` in between;
// ends after the terminal event, when the client leaves and at drain.
class EventStream final : public JobStream {
 public:
  // Starts the answer of `call`: everything after `after_version` is sent. REQUIRES: the job is the caller's.
  static void start(Context& context, CallPtr call, const schemas::JobId& job, std::int64_t after_version,
                    ShowEvent show);

  // How such an answer begins.
  static front::Reply head();

  EventStream(Context& context, CallPtr call, const schemas::JobId& job, std::int64_t after_version,
              ShowEvent show)
      : JobStream(context, std::move(call), job), show_(std::move(show)), sent_(after_version) {}
  void drain() override { over(); }

 private:
  Look look() override;
  bool beat() override { return call_->responder().write("event: ping\ndata: {}\n\n"); }
  void end_answer() override { call_->responder().end(); }

  const ShowEvent show_;
  std::int64_t sent_;  // version; only the running look touches it
};

}  // namespace millrace::api

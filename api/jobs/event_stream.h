#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "api/context.h"
#include "api/jobs/job_stream.h"
#include "api/routing/list_query.h"
#include "schemas/jobs/job.h"

// A job's history as JSON pages and as a stream, in the format of the resource that it is shown as.
namespace millrace::api {

struct ShownEvent {
  std::string type;  // `event` of a stream
  std::string json;  // on one line
};
// How an event of a job looks to its client; nullopt: it is not shown. May block: pool.
using ShowEvent = std::function<std::optional<ShownEvent>(const schemas::JobEvent& event)>;

struct EventQuery : PageQuery {
  std::int64_t after = 0;
};
// By job_event_fields(). False: `call` was answered 422.
bool read_event_query(Call& call, EventQuery& query);

// A page, or the stream that `Accept: text/event-stream` asks for: after Last-Event-ID, else after
// `query.after`; 204 when nothing more can come. REQUIRES: the job is the caller's. Blocks: pool.
void send_events(Context& context, const CallPtr& call, const schemas::JobView& job, const EventQuery& query,
                 const ShowEvent& show);

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

#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "api/admission/keyed_semaphore.h"
#include "api/context.h"
#include "api/jobs/job_stream.h"
#include "api/routing/list_query.h"
#include "schemas/jobs/job.h"

// A job's history as JSON pages and as a stream, in the event format of the resource (job or execution).
namespace millrace::api {

struct ShownEvent {
  std::string type;  // `event` of a stream
  std::string json;  // on one line
};
// Converts a job's event for the client; nullopt: the event is not shown. May block; runs on the pool.
using ShowEvent = std::function<std::optional<ShownEvent>(const schemas::JobEvent& event)>;

struct EventQuery : PageQuery {
  std::int64_t after = 0;
};
// Parses the query by job_event_fields(). False: 422 was sent.
bool read_event_query(Call& call, EventQuery& query);

// Sends a page, or a stream if the request has `Accept: text/event-stream`. The stream starts after
// Last-Event-ID, else after `query.after`; 204 if no more events can follow. REQUIRES: the job belongs to the
// caller. Blocks; runs on the pool.
void send_events(Context& context, const CallPtr& call, const schemas::JobView& job, const EventQuery& query,
                 const ShowEvent& show);

// The permit for one more event stream of the call's key (http.streams_per_key). Null: 429 was sent.
KeyedSemaphore::Permit take_stream_permit(Context& context, Call& call);

// A job's events as server-sent events: `id` is the version, `event` and `data` come from `show`; `ping` in
// between. Ends after the terminal event, when the client disconnects and at shutdown.
class EventStream final : public JobStream {
 public:
  // Starts the stream as the response to `call`, with all events after `after_version`. REQUIRES: the job
  // belongs to the caller. 429 if the key has too many streams.
  static void start(Context& context, CallPtr call, const schemas::JobId& job, std::int64_t after_version,
                    ShowEvent show);

  // The head of an event stream.
  static front::Reply head();

  EventStream(Context& context, CallPtr call, const schemas::JobId& job, std::int64_t after_version,
              ShowEvent show, KeyedSemaphore::Permit permit)
      : JobStream(context, std::move(call), job),
        show_(std::move(show)),
        permit_(std::move(permit)),
        sent_(after_version) {}
  void drain() override { over(); }

 private:
  PollResult poll() override;
  bool send_heartbeat() override { return call_->responder().write("event: ping\ndata: {}\n\n"); }
  void end_response() override { call_->responder().end(); }

  const ShowEvent show_;
  const KeyedSemaphore::Permit permit_;
  std::int64_t sent_;  // last sent version; used only by the running poll
};

}  // namespace millrace::api

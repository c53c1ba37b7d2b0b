#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "api/context.h"
#include "api/list_query.h"
#include "schemas/job.h"

// A job's history as JSON pages and as a stream, in the words of the resource that it is shown as.
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

}  // namespace millrace::api

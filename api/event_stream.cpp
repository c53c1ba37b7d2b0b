#include "api/event_stream.h"

#include "platform/base/log.h"
#include "storage/job_queries.h"

namespace millrace::api {
namespace {

constexpr int kStreamEventsPerRead = 100;

bool is_end(const schemas::JobEvent& event) {
  return event.type == "succeeded" || event.type == "failed" || event.type == "cancelled" ||
         event.type == "expired";
}

std::string frame(std::int64_t version, const ShownEvent& event) {
  return "id: " + std::to_string(version) + "\nevent: " + event.type + "\ndata: " + event.json + "\n\n";
}

}  // namespace

front::Reply EventStream::head() {
  front::Reply head{.status = 200, .content_type = "text/event-stream", .headers = {}, .body = {}};
  add_header(head, "cache-control", "no-store");
  return head;
}

void EventStream::start(Context& context, CallPtr call, const schemas::JobId& job, std::int64_t after_version,
                        ShowEvent show) {
  const auto stream = std::make_shared<EventStream>(context, call, job, after_version, std::move(show));
  if (call->start_stream(head())) stream->watch(after_version, context.options.event_ping);
}

// One page of rows.
JobStream::Look EventStream::look() {
  const auto events =
      storage::JobQueries(context_.store).events(call_->tenant(), job_, sent_, kStreamEventsPerRead);
  if (!events) {
    base::log_warn("event_stream_cannot_read", {{"job_id", job_.str()}, {"error", events.error().message}});
    return events.error().code == base::Code::kNotFound ? Look::kOver : Look::kCaughtUp;
  }
  std::string frames;
  bool over = false;
  for (const schemas::JobEvent& event : *events) {
    if (const auto shown = show_(event)) frames += frame(event.version, *shown);
    sent_ = event.version;
    over = over || is_end(event);
  }
  if (!frames.empty() && !call_->responder().write(frames)) return Look::kOver;
  if (over) return Look::kOver;
  if (call_->responder().backlog() > kBacklogPause) return Look::kBacklog;
  return events->size() == std::size_t{kStreamEventsPerRead} ? Look::kMore : Look::kCaughtUp;
}

}  // namespace millrace::api

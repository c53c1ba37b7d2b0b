#include "api/jobs/event_stream.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "api/call.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/jobs/job_scope.h"
#include "api/jobs/job_text.h"
#include "api/routing/list_query.h"
#include "api/routing/page.h"
#include "platform/base/log.h"
#include "storage/jobs/job_queries.h"

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

constexpr std::chrono::seconds kStreamAgain{5};

}  // namespace

KeyedSemaphore::Permit take_stream_permit(Context& context, Call& call) {
  auto permit = context.stream_permits.take(call.principal->first_key_id);
  if (permit) return permit;
  base::Error error = base::error(base::Code::kRateLimited,
                                  "This key has " + std::to_string(context.stream_permits.most()) +
                                      " event streams open, the limit of http.streams_per_key; close one");
  error.retry_after = kStreamAgain;
  call.fail(error);
  return nullptr;
}

front::Reply EventStream::head() {
  front::Reply head{.status = 200, .content_type = "text/event-stream", .headers = {}, .body = {}};
  add_header(head, "cache-control", "no-store");
  return head;
}

void EventStream::start(Context& context, CallPtr call, const schemas::JobId& job, std::int64_t after_version,
                        ShowEvent show) {
  auto permit = take_stream_permit(context, *call);
  if (!permit) return;
  const auto stream =
      std::make_shared<EventStream>(context, call, job, after_version, std::move(show), std::move(permit));
  if (call->start_stream(head())) stream->watch(after_version, context.options.event_ping);
}

// Reads and sends one page of rows.
JobStream::PollResult EventStream::poll() {
  const auto events =
      storage::JobQueries(context_.store).events(call_->tenant(), job_, sent_, kStreamEventsPerRead);
  if (!events) {
    base::log_warn("event_stream_read_failed", {{"job_id", job_.str()}, {"error", events.error().message}});
    return events.error().code == base::Code::kNotFound ? PollResult::kOver : PollResult::kCaughtUp;
  }
  std::string frames;
  bool over = false;
  for (const schemas::JobEvent& event : *events) {
    if (const auto shown = show_(event)) frames += frame(event.version, *shown);
    sent_ = event.version;
    over = over || is_end(event);
  }
  if (!frames.empty() && !call_->responder().write(frames)) return PollResult::kOver;
  if (over) return PollResult::kOver;
  if (call_->responder().backlog() > kBacklogPause) return PollResult::kBacklog;
  return events->size() == std::size_t{kStreamEventsPerRead} ? PollResult::kMore : PollResult::kCaughtUp;
}

namespace {

using schemas::Field;
using schemas::FieldType;

constexpr int kPageEventsPerRead = 64;  // each has up to 256 KiB

constexpr std::array kFields{
    limit_field<EventQuery>(),
    cursor_field<EventQuery>(),
    Field{.name = "after",
          .type = FieldType::kInteger,
          .text = "Only events after this version or sequence",
          .store = &schemas::store_in<EventQuery, &EventQuery::after>},
};

// Adds the shown events to the page. False: the page is full. `after` becomes the version of the last added
// event.
bool add_events(Page& page, const std::vector<schemas::JobEvent>& events, std::size_t limit,
                const ShowEvent& show, std::int64_t& after) {
  for (const schemas::JobEvent& event : events) {
    const auto shown = show(event);
    if (shown && (page.count() == limit || !page.add(shown->json))) return false;
    after = event.version;
  }
  return true;
}

void send_page(Context& context, Call& call, const schemas::JobId& job, const EventQuery& query,
               const ShowEvent& show) {
  storage::JobQueries queries(context.store);
  Page page(context);
  std::int64_t after = query.after;
  while (true) {
    const int requested = std::min(kPageEventsPerRead, query.limit + 1 - static_cast<int>(page.count()));
    const auto events = queries.events(call.tenant(), job, after, requested);
    if (!events) return call.fail(events.error());
    if (!add_events(page, *events, static_cast<std::size_t>(query.limit), show, after))
      return page.send(call, event_cursor(after));
    if (events->size() < static_cast<std::size_t>(requested)) return page.send(call, {});
  }
}

// The version after which a stream resumes: Last-Event-ID, else `after`.
std::int64_t resume_point(const Call& call, const EventQuery& query) {
  const std::string_view sent = call.head().header("last-event-id").value_or("");
  std::int64_t version = 0;
  const auto [end, failed] = std::from_chars(sent.data(), sent.data() + sent.size(), version);
  const bool good =
      !sent.empty() && failed == std::errc() && end == sent.data() + sent.size() && version >= 0;
  return good ? version : query.after;
}

// After a 204 an event source does not reconnect. HEAD gets only the head.
void stream_events(Context& context, const CallPtr& call, const schemas::JobView& job, std::int64_t after,
                   const ShowEvent& show) {
  if (schemas::is_terminal(job.status) && after >= job.version) return call->reply(empty_reply(204));
  if (call->head().method == "HEAD") {
    if (call->start_stream(EventStream::head())) call->responder().end();
    return;
  }
  EventStream::start(context, call, job.id, after, show);
}

std::optional<ShownEvent> show_all(const schemas::JobEvent& event) {
  return ShownEvent{event.type, event_json(event)};
}

std::optional<ShownEvent> show_without_data(const schemas::JobEvent& event) {
  schemas::JobEvent shown = event;
  shown.data.clear();
  return show_all(shown);
}

}  // namespace

bool read_event_query(Call& call, EventQuery& query) {
  std::optional<std::int64_t> begin;
  if (!read_query(call, kFields, &query)) return false;
  if (!read_cursor(call, query.cursor, &event_cursor_of, begin)) return false;
  query.after = begin.value_or(query.after);
  return true;
}

void send_events(Context& context, const CallPtr& call, const schemas::JobView& job, const EventQuery& query,
                 const ShowEvent& show) {
  if (accepts_event_stream(call->head()))
    return stream_events(context, call, job, resume_point(*call, query), show);
  send_page(context, *call, job.id, query, show);
}

std::span<const Field> job_event_fields() { return kFields; }

void job_events(Context& context, CallPtr call) {
  const auto id = shown_job_id(call->params.front());
  if (!id) return call->fail(base::error(base::Code::kNotFound, "There is no such job"));
  call->set_job_id(id->str());
  EventQuery query;
  if (!read_event_query(*call, query)) return;
  const auto job = storage::JobQueries(context.store).job(call->tenant(), *id);
  if (!job) return call->fail(job.error());
  const bool all = check_scope(*call->principal, id->kind).has_value();
  send_events(context, call, *job, query, all ? &show_all : &show_without_data);
}

}  // namespace millrace::api

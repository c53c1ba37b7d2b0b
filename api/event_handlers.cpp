#include <array>
#include <charconv>

#include "api/call.h"
#include "api/event_stream.h"
#include "api/events.h"
#include "api/handlers.h"
#include "api/headers.h"
#include "api/job_text.h"
#include "api/list_query.h"
#include "schemas/json_text.h"
#include "storage/job_queries.h"

namespace millrace::api {
namespace {

using schemas::Field;
using schemas::FieldType;

constexpr std::array kFields{
    limit_field<EventQuery>(),
    cursor_field<EventQuery>(),
    Field{.name = "after",
          .type = FieldType::kInteger,
          .text = "Only events after this version or sequence",
          .store = &schemas::store_in<EventQuery, &EventQuery::after>},
};

void send_page(Context& context, Call& call, const schemas::JobId& job, const EventQuery& query,
               ShowEvent show) {
  const auto events =
      storage::JobQueries(context.store).events(call.tenant(), job, query.after, query.limit + 1);
  if (!events) return call.fail(events.error());
  const bool more = events->size() > static_cast<std::size_t>(query.limit);
  const std::size_t count = more ? static_cast<std::size_t>(query.limit) : events->size();
  std::string items = "[";
  for (std::size_t i = 0; i < count; ++i)
    items.append(i > 0 ? "," : "").append(show(context, call, job, (*events)[i]).json);
  schemas::JsonObject out;
  out.raw("items", items + "]");
  if (more) out.member("next_cursor", event_cursor((*events)[count - 1].version));
  call.reply(json_reply(200, out.finish()));
}

// The version after which a stream goes on: Last-Event-ID, else `after`.
std::int64_t resume_point(const Call& call, const EventQuery& query) {
  const std::string_view sent = call.head().header("last-event-id").value_or("");
  std::int64_t version = 0;
  const auto [end, failed] = std::from_chars(sent.data(), sent.data() + sent.size(), version);
  const bool good =
      !sent.empty() && failed == std::errc() && end == sent.data() + sent.size() && version >= 0;
  return good ? version : query.after;
}

// 204 tells an event source that there is nothing more to come. HEAD asks for the head alone.
void stream_events(Context& context, const CallPtr& call, const schemas::JobView& job, std::int64_t after,
                   ShowEvent show) {
  if (schemas::is_terminal(job.status) && after >= job.version) return call->reply(empty_reply(204));
  if (call->head().method == "HEAD") {
    if (call->start_stream(EventStream::head())) call->responder().end();
    return;
  }
  EventStream::start(context, call, job.id, after, show);
}

ShownEvent show_as_it_is(Context&, const Call&, const schemas::JobId&, const schemas::JobEvent& event) {
  return {event.type, event_json(event)};
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
                 ShowEvent show) {
  if (accepts_event_stream(call->head()))
    return stream_events(context, call, job, resume_point(*call, query), show);
  send_page(context, *call, job.id, query, show);
}

std::span<const Field> job_event_fields() { return kFields; }

void job_events(Context& context, CallPtr call) {
  const auto id = schemas::JobId::parse(call->params.front());
  if (!id) return call->fail(base::error(base::Code::kNotFound, "There is no such job"));
  call->name_job(id->str());
  EventQuery query;
  if (!read_event_query(*call, query)) return;
  const auto job = storage::JobQueries(context.store).job(call->tenant(), *id);
  if (!job) return call->fail(job.error());
  send_events(context, call, *job, query, &show_as_it_is);
}

}  // namespace millrace::api

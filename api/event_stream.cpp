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
  auto stream = std::make_shared<EventStream>(context, call, job, after_version, std::move(show));
  if (!call->start_stream(head())) return;
  context.waits.add(stream);
  const std::weak_ptr<EventStream> weak = stream;
  call->on_gone([weak] {
    if (const auto held = weak.lock()) held->end();
  });
  auto ticket = context.waits.waiters().watch(job, after_version, [weak](std::int64_t, schemas::JobStatus) {
    if (const auto held = weak.lock()) held->wake();
  });
  {
    const std::lock_guard lock(stream->mutex_);
    if (!stream->over_) stream->ticket_ = std::move(ticket);
  }
  stream->schedule_ping();
  stream->wake();
}

void EventStream::wake() {
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    again_ = true;
    if (running_) return;
    running_ = true;
  }
  const bool posted =
      context_.pool.post(base::Pool::Lane::kQuick, [self = shared_from_this()] { self->pump(); });
  if (posted) return;
  const std::lock_guard lock(mutex_);
  running_ = false;  // the next ping looks again
}

void EventStream::pump() {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      running_ = again_ && !over_;
      again_ = false;
      if (!running_) return;
    }
    const Step step = send_some();
    if (step == Step::kOver) return end();
    const std::lock_guard lock(mutex_);
    if (step == Step::kMore) again_ = true;
    if (step != Step::kBacklog) continue;
    running_ = false;
    call_->responder().on_drained(kBacklogResume, [weak = weak_from_this()] {
      if (const auto held = weak.lock()) held->wake();
    });
    return;
  }
}

EventStream::Step EventStream::send_some() {
  const auto events =
      storage::JobQueries(context_.store).events(call_->tenant(), job_, sent_, kStreamEventsPerRead);
  if (!events) {
    base::log_warn("event_stream_cannot_read", {{"job_id", job_.str()}, {"error", events.error().message}});
    return events.error().code == base::Code::kNotFound ? Step::kOver : Step::kCaughtUp;
  }
  std::string frames;
  bool over = false;
  for (const schemas::JobEvent& event : *events) {
    if (const auto shown = show_(event)) frames += frame(event.version, *shown);
    sent_ = event.version;
    over = over || is_end(event);
  }
  if (!frames.empty() && !call_->responder().write(frames)) return Step::kOver;
  if (over) return Step::kOver;
  if (call_->responder().backlog() > kBacklogPause) return Step::kBacklog;
  return events->size() == std::size_t{kStreamEventsPerRead} ? Step::kMore : Step::kCaughtUp;
}

void EventStream::schedule_ping() {
  auto timer = context_.loop.after(context_.options.event_ping, [weak = weak_from_this()] {
    const auto held = weak.lock();
    if (!held) return;
    if (!held->call_->responder().write("event: ping\ndata: {}\n\n")) return held->end();
    held->wake();
    held->schedule_ping();
  });
  const std::lock_guard lock(mutex_);
  if (!over_) ping_ = std::move(timer);
}

void EventStream::end() {
  jobs::Waiters::Ticket ticket;
  net::Loop::Timer ping;
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    over_ = true;
    ticket = std::move(ticket_);
    ping = std::move(ping_);
  }
  ping.cancel();
  call_->responder().end();
  context_.waits.remove(shared_from_this());
}

}  // namespace millrace::api

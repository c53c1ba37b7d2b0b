#include "api/admin/admin_stream.h"

#include "api/admin/live_overview.h"
#include "api/handlers.h"
#include "api/jobs/event_stream.h"
#include "platform/base/log.h"
#include "schemas/json/json_text.h"

namespace millrace::api {
namespace {

std::string feed_frame(std::string_view type, const std::string& json) {
  return "event: " + std::string(type) + "\ndata: " + json + "\n\n";
}

std::string change_json(const schemas::JobChange& change) {
  return schemas::JsonObject()
      .member("id", change.job.str())
      .member("kind", schemas::name(change.job.kind))
      .member("tenant", change.tenant)
      .member("status", schemas::public_status(change.status, change.waking, change.scheduled))
      .number("version", change.version)
      .finish();
}

base::Error too_many_follow() {
  return base::error(base::Code::kOverloaded, "Too many event streams are open; the limit is " +
                                                  std::to_string(jobs::Feed::kFollowersMax) +
                                                  " per process. Close one, or poll /v1/admin/overview");
}

}  // namespace

void AdminStream::start(Context& context, CallPtr call) {
  auto permit = take_stream_permit(context, *call);
  if (!permit) return;
  auto follower = context.feed == nullptr ? jobs::Feed::FollowerPtr() : context.feed->follow();
  if (context.feed != nullptr && !follower) return call->fail(too_many_follow());
  auto stream = std::make_shared<AdminStream>(context, call, std::move(follower), std::move(permit));
  if (!call->start_stream(EventStream::head())) return;
  context.waits.add(stream);
  call->on_gone([weak = std::weak_ptr(stream)] {
    if (const auto held = weak.lock()) held->end();
  });
  stream->poll();
}

void AdminStream::schedule() {
  auto timer = context_.loop.after(context_.options.feed_interval, [weak = weak_from_this()] {
    if (const auto held = weak.lock()) held->tick();
  });
  const std::lock_guard lock(mutex_);
  if (!over_) timer_ = std::move(timer);
}

// If the pool is full, the next tick tries again and sends newer data.
void AdminStream::tick() {
  const bool posted =
      context_.pool.post(base::Pool::Queue::kQuick, [self = shared_from_this()] { self->poll(); });
  if (!posted) schedule();
}

void AdminStream::poll() {
  if (follower_ && follower_->dropped()) {
    base::log_warn("event_feed_dropped", {{"request_id", call_->request_id()}});
    send(feed_frame("dropped", R"({"reason":"too_slow","message":"The client reads too slowly and has )"
                               R"(missed changes of jobs; reconnect and reload the lists"})"));
    return end();
  }
  if (call_->responder().backlog() <= kBacklogPause && !send(changes() + overview())) return end();
  schedule();
}

bool AdminStream::send(const std::string& frames) {
  const base::BootTime now = context_.clock.boot();
  const bool quiet = frames.empty();
  if (quiet && now - sent_at_ < context_.options.event_ping) return call_->responder().alive();
  sent_at_ = now;
  return call_->responder().write(quiet ? feed_frame("ping", "{}") : frames);
}

std::string AdminStream::changes() {
  std::string frames;
  if (!follower_) return frames;
  for (const schemas::JobChange& change : follower_->take()) {
    if (change.job.kind != schemas::Kind::kMachine) frames += feed_frame("job", change_json(change));
  }
  return frames;
}

bool AdminStream::overview_is_due() const {
  return overview_at_ == base::BootTime{} ||
         context_.clock.boot() - overview_at_ >= context_.options.feed_overview;
}

std::string AdminStream::overview() {
  if (!overview_is_due()) return {};
  overview_at_ = context_.clock.boot();
  const auto text = context_.live_overview.text(context_);
  if (text) return feed_frame("overview", *text);
  base::log_warn("event_feed_read_failed", {{"error", text.error().message}});
  return {};
}

void AdminStream::end() {
  net::Loop::Timer timer;
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    over_ = true;
    timer = std::move(timer_);
  }
  timer.cancel();
  call_->responder().end();
  context_.waits.remove(shared_from_this());
}

void admin_events(Context& context, CallPtr call) {
  if (call->head().method != "HEAD") return AdminStream::start(context, std::move(call));
  if (call->start_stream(EventStream::head())) call->responder().end();
}

}  // namespace millrace::api

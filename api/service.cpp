#include "api/service.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "api/admin/live_overview.h"
#include "api/admission/guard.h"
#include "api/admission/token_limits.h"
#include "api/batches/batch_runner.h"
#include "api/chat/chat_responder.h"
#include "api/headers.h"
#include "api/machines/ssh_revocations.h"
#include "api/openapi/openapi.h"
#include "api/routing/route.h"
#include "api/tenants/usage_meter.h"
#include "platform/base/log.h"

namespace millrace::api {
namespace {

constexpr std::chrono::milliseconds kWaitersEvery{1'000};

// What one owner may take of a budget: half of it, but at least the largest body if that fits.
std::size_t share_of(std::size_t budget_bytes) {
  std::size_t largest = 0;
  for (const Route& route : routes()) largest = std::max(largest, body_memory_max(route));
  return std::max(budget_bytes / 2, std::min(budget_bytes, largest));
}

}  // namespace

// Members are destroyed in reverse order of declaration.
struct Service::Impl {
  Dependencies with;
  const std::string pepper;
  const std::string document = openapi_document();
  JobWaits waits;
  AllowedHosts hosts;
  Cors cors;
  Auth auth;
  LiveCalls live_calls;
  HttpMetrics http_metrics;
  ByteBudget budget, unauthenticated_budget, replies;
  AddressShares address_shares;
  MinuteRate rate;
  TokenLimits tokens;
  UsageMeter usage;
  KeyedSemaphore picture_permits, stream_permits, join_permits, request_permits;
  Revocations revocations;
  ActiveResponders active_responders;
  LiveOverview live_overview;
  std::atomic<bool> draining{false};
  Context context;
  Router router;
  Guard guard;
  BatchRunner batches;

  std::mutex mutex;
  std::condition_variable idle;
  bool stopped = false;
  bool polling = false;
  base::BootTime waiters_due{};  // used only by the running poll
  net::Loop::Timer timer;

  Impl(Dependencies dependencies, const std::string& pepper_text)
      : with(std::move(dependencies)),
        pepper(pepper_text),
        waits(with.waiters, with.loop),
        hosts(with.options.hosts),
        cors(with.options.cors_origins),
        auth(with.store, pepper, with.options.failed_keys_per_minute),
        live_calls(auth),
        http_metrics(with.metrics, routes()),
        budget(with.options.body_budget_bytes, share_of(with.options.body_budget_bytes)),
        unauthenticated_budget(with.options.unauthenticated_budget_bytes,
                               share_of(with.options.unauthenticated_budget_bytes)),
        replies(with.options.reply_budget_bytes),
        rate(with.options.api_processes),
        tokens(with.clock, with.options.api_processes),
        usage(with.store, with.clock),
        picture_permits(with.options.pictures_per_tenant),
        stream_permits(with.options.streams_per_key),
        join_permits(with.options.joins_per_tenant),
        request_permits(with.options.requests_per_tenant),
        revocations(with.store, with.ssh_authority, with.clock),
        active_responders(with.loop),
        context{.store = with.store,
                .submit = with.submit,
                .intake = storage::JobIntake(with.store),
                .pool = with.pool,
                .loop = with.loop,
                .metrics = with.metrics,
                .clock = with.clock,
                .dispatch_health = with.dispatch_health,
                .options = with.options,
                .hosts = hosts,
                .cors = cors,
                .waits = waits,
                .replies = replies,
                .tokens = tokens,
                .usage = usage,
                .fetch_guard = with.fetch_guard,
                .draining = draining,
                .openapi = document,
                .secret_key = with.secret_key,
                .ssh_authority = with.ssh_authority,
                .revocations = revocations,
                .chat = with.chat,
                .model_lists = with.model_lists,
                .active_responders = active_responders,
                .pepper = pepper,
                .live_calls = live_calls,
                .live_overview = live_overview,
                .feed = with.feed,
                .pictures = with.pictures,
                .batches = &batches,
                .picture_permits = picture_permits,
                .stream_permits = stream_permits,
                .join_permits = join_permits},
        router(routes()),
        guard(context, router,
              {.auth = auth,
               .metrics = http_metrics,
               .budget = budget,
               .unauthenticated_budget = unauthenticated_budget,
               .address_shares = address_shares,
               .rate = rate,
               .live_calls = live_calls,
               .request_permits = request_permits}),
        batches(context, guard, auth) {}

  // If the process crashed between closing a session and writing the file, the next start repairs the file.
  void publish_revocations() {
    if (!with.ssh_authority) return;
    if (const auto published = revocations.publish(); !published)
      base::log_error("revocation_list_write_failed", {{"error", published.error().message}});
  }

  void end_ssh_sessions() {
    if (!with.ssh_authority) return;
    if (const auto ended = revocations.close_of_ended_keys(); !ended)
      base::log_warn("ssh_sessions_check_failed", {{"error", ended.error().message}});
  }

  void schedule_poll() {
    auto next = with.loop.after(LiveCalls::kRefreshEvery, [this] { begin_poll(); });
    const std::lock_guard lock(mutex);
    if (!stopped) timer = std::move(next);
  }

  void begin_poll() {
    {
      const std::lock_guard lock(mutex);
      if (stopped) return;
      polling = true;
    }
    if (with.pool.post_reply(base::Pool::Queue::kQuick, [this] { poll(); })) return;
    end_poll();
  }

  // Refreshes keys that another process changed, and wakes waiters whose hint was lost.
  void poll() {
    if (const base::Status fresh = live_calls.refresh(); !fresh) {
      base::log_warn("keys_refresh_failed", {{"error", fresh.error().message}});
    }
    end_ssh_sessions();
    if (with.clock.boot() >= waiters_due && with.waiters.count() > 0) {
      waiters_due = with.clock.boot() + kWaitersEvery;
      with.waiters.poll();
    }
    usage.flush();
    end_poll();
  }

  void end_poll() {
    bool go_on = false;
    {
      const std::lock_guard lock(mutex);
      polling = false;
      go_on = !stopped;
      idle.notify_all();
    }
    if (go_on) schedule_poll();
  }

  void stop() {
    std::unique_lock lock(mutex);
    if (std::exchange(stopped, true)) return;
    lock.unlock();
    batches.stop();
    lock.lock();
    timer.cancel();
    idle.wait(lock, [&] { return !polling; });
    lock.unlock();
    active_responders.stop();
    usage.flush();
  }
};

Service::Service(Dependencies dependencies, const std::string& pepper)
    : impl_(std::make_unique<Impl>(std::move(dependencies), pepper)) {}

Service::~Service() { stop(); }

base::Status Service::start() {
  const auto bytes = impl_->with.metrics.gauge(
      "millrace_in_flight_body_bytes", "Bytes of request bodies that are in memory or being received");
  const auto replies = impl_->with.metrics.gauge("millrace_in_flight_reply_bytes",
                                                 "Bytes of results in memory that are being sent to clients");
  impl_->with.metrics.on_scrape([bytes, replies, this] {
    bytes.set(static_cast<double>(impl_->budget.used() + impl_->unauthenticated_budget.used()));
    replies.set(static_cast<double>(impl_->replies.used()));
  });
  if (auto loaded = impl_->live_calls.refresh(); !loaded) return loaded;
  impl_->publish_revocations();
  impl_->schedule_poll();
  impl_->batches.start();
  return {};
}

void Service::refuse_new() {
  impl_->draining = true;
  impl_->batches.refuse_new();
}

void Service::drain(std::chrono::milliseconds grace) {
  refuse_new();
  impl_->waits.drain();
  impl_->active_responders.drain(grace);
}

void Service::stop() { impl_->stop(); }

front::Admission Service::admit(const front::Head& head) { return impl_->guard.admit(head); }

void Service::run(front::Request request, front::Responder responder) {
  impl_->guard.run(std::move(request), std::move(responder));
}

front::Reply Service::error_reply(int status, std::string_view message, const front::Head& head) {
  auto [content_type, body] = schemas::error_body(head.path, status, message);
  front::Reply reply{
      .status = status, .content_type = std::move(content_type), .headers = {}, .body = std::move(body)};
  add_header(reply, "x-request-id", request_id(head));
  if (status == 401) add_header(reply, "www-authenticate", "Bearer");
  if (status == 503) {
    add_header(reply, "retry-after-ms", "1000");
    add_header(reply, "retry-after", "1");
  } else if (status != 408) {
    add_header(reply, "x-should-retry", "false");
  }
  add_cors_headers(reply, impl_->cors.answer(head));
  return reply;
}

}  // namespace millrace::api

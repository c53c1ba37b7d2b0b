#include "api/chat/chat_responder.h"

#include <exception>
#include <future>
#include <utility>
#include <vector>

#include "api/admission/token_limits.h"
#include "platform/base/log.h"
#include "schemas/chat/chat_job.h"
#include "schemas/dropped.h"
#include "schemas/json/json_tree.h"

namespace millrace::api {
namespace {

using base::Code;

constexpr std::size_t kHeadersUsual = 6;  // of a response

// Facts for the end of a stream, including the price, which was unknown when the headers were sent.
schemas::ChatMetadata facts_of(const inference::ChatResult& end) {
  const schemas::ChatReply& reply = end.reply;
  schemas::ChatMetadata facts;
  facts.service_tier = reply.service_tier;
  facts.system_fingerprint = reply.system_fingerprint;
  facts.usage = reply.usage;
  facts.extra = reply.extra;
  if (end.cost_usd) facts.extra["cost_usd"] = *end.cost_usd;
  return facts;
}

// Other calls need the request: for further choices, after tools, and after a pause for a search.
bool takes_one_call(const schemas::ChatRequest& request) {
  const bool searches =
      request.body.contains("web_search_options") || request.body.contains("search_parameters");
  return request.n == 1 && request.mcp_servers.empty() && !searches;
}

std::size_t text_bytes(const schemas::ChatReply& reply) {
  std::size_t bytes = schemas::text_bytes(reply.extra);
  for (const schemas::ChatChoice& each : reply.choices) {
    bytes += (each.content ? each.content->size() : 0) + each.reasoning.size();
    bytes += schemas::text_bytes(each.extra);
    for (const schemas::ToolCall& call : each.tool_calls) bytes += call.arguments.size();
  }
  return bytes;
}

void send_whole(Context& context, Call& call, const inference::ChatHead& head,
                const inference::ChatResult& end, std::size_t bytes, bool old_functions) try {
  auto reservation = reserve_reply(context, bytes);
  if (!reservation) return call.fail(reservation.error());
  front::Reply reply = json_reply(200, schemas::chat_completion_json(end.reply, old_functions));
  reply.reservation = *std::move(reservation);
  reply.headers.reserve(kHeadersUsual);
  add_chat_headers(reply, head.model, head.attempts, schemas::dropped_text(head.dropped), end.cost_usd);
  call.reply(std::move(reply));
} catch (const std::exception& fault) {
  base::log_error("reply_not_written", {{"request_id", call.request_id()}, {"error", fault.what()}});
  call.fail(base::error(Code::kInternal, "The reply could not be written"));
}

}  // namespace

base::Result<std::shared_ptr<void>> reserve_reply(Context& context, std::size_t bytes) {
  if (bytes <= kSmallReply) return std::shared_ptr<void>();
  auto reservation = context.replies.take(bytes);
  if (!reservation) return reply_budget_exhausted();
  return std::shared_ptr<void>(std::make_shared<ByteBudget::Reservation>(std::move(*reservation)));
}

base::Error shutting_down() { return base::error(Code::kOverloaded, "The server is shutting down"); }

front::Reply model_stream_head() {
  front::Reply head{.status = 200, .content_type = "text/event-stream", .headers = {}, .body = {}};
  head.headers.reserve(kHeadersUsual);
  add_header(head, "cache-control", "no-cache");
  add_header(head, "x-accel-buffering", "no");
  return head;
}

void fail_stream(Call& call, const base::Error& error, std::string_view model, std::string pending_text) {
  base::log_warn("model_stream_failed",
                 {{"request_id", call.request_id()}, {"code", base::name(error.code)}, {"model", model}});
  const front::Responder& client = call.responder();
  const auto body = schemas::error_body(call.head().path, error).body;
  if (client.write(std::move(pending_text).append(schemas::ChatChunks::error(body)))) {
    client.end();
  } else {
    client.abort();
  }
}

void add_chat_headers(front::Reply& reply, std::string_view model, int attempts, std::string_view dropped,
                      std::optional<double> cost_usd) {
  if (!model.empty()) add_header(reply, "x-millrace-model", model);
  if (attempts > 0) add_header(reply, "x-millrace-attempts", std::to_string(attempts));
  if (!dropped.empty()) add_header(reply, "x-millrace-dropped-params", dropped);
  if (cost_usd) add_header(reply, "x-millrace-cost-usd", schemas::dollars(*cost_usd));
}

ChatResponder::ChatResponder(Context& context, CallPtr call, schemas::ChatRequest request)
    : context_(context),
      call_(std::move(call)),
      request_(std::make_unique<schemas::ChatRequest>(std::move(request))),
      stream_(request_->stream),
      single_upstream_call_(takes_one_call(*request_)),
      chunk_options_{.include_usage = request_->include_usage,
                     .include_obfuscation = request_->include_obfuscation,
                     .old_functions = request_->old_functions,
                     .usage_with_reason = !request_->has_stream_options},
      budget_(std::make_shared<RequestBudget>(context, call_->principal)) {}

std::function<void()> ChatResponder::later(void (ChatResponder::*f)()) {
  return [&loop = context_.loop, weak = weak_from_this(), f] {
    loop.post([weak, f] {
      if (const auto self = weak.lock()) ((*self).*f)();
    });
  };
}

void ChatResponder::begin() {
  call_->on_gone(later(&ChatResponder::on_disconnect));
  context_.loop.run_inline_if_idle([self = shared_from_this()] { self->start(); });
}

void ChatResponder::start() {
  if (over_) return;
  if (!context_.active_responders.add(shared_from_this())) return call_->fail(shutting_down());
  if (!budget_->is_limited()) return start_run();
  request_->cap_output = true;
  budget_->reserve(context_.chat.max_cost(*request_),
                   [weak = weak_from_this()](const base::Status& reserved) {
                     const auto self = weak.lock();
                     if (!self || self->over_) return;
                     if (!reserved) return self->cancel_with_error(reserved.error());
                     self->start_run();
                   });
}

void ChatResponder::start_run() {
  auto run = context_.chat.start(std::move(*std::exchange(request_, nullptr)), *this);
  if (over_) return;
  run_ = std::move(run);
  if (stream_) context_.active_responders.start_heartbeat(*this, context_.options.chat_heartbeat);
}

void ChatResponder::on_head(const inference::ChatHead& head) {
  if (over_) return;
  head_ = head;
  if (!stream_) return;
  const auto created =
      std::chrono::duration_cast<std::chrono::seconds>(context_.clock.wall().time_since_epoch()).count();
  schemas::ChatChunks::Options options = chunk_options_;
  options.usage_with_reason = options.usage_with_reason && head.reports_usage;
  chunks_.emplace(head.id, created, head.model, options);
  if (opened_early_) return drop_request();
  opening_ = std::make_unique<front::Reply>(model_stream_head());
  add_chat_headers(*opening_, head.model, head.attempts, schemas::dropped_text(head.dropped), std::nullopt);
  context_.loop.post([weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && !self->over_) self->open({});
  });
}

// Sends the head together with the first text. The head is held back for one turn of the loop, because the
// first text nearly always follows at once.
void ChatResponder::open(std::string_view first) {
  const auto head = std::move(opening_);
  if (!head) return;
  opened_ = true;
  call_->start_stream(std::move(*head), first);
  call_->drop_headers();
  if (chunks_) drop_request();
}

// Once a model answers, the run does not need the request either.
void ChatResponder::drop_request() {
  if (single_upstream_call_) call_->drop_body();
}

void ChatResponder::on_piece(schemas::ChatPiece&& piece) {
  if (over_ || !chunks_) return;
  std::string text = chunks_->piece(piece);
  if (opening_ && !text.empty()) return open(text);
  unsent_ = with_unsent_text(std::move(text));
  if (unsent_.size() > kBacklogPause) on_pause();
}

void ChatResponder::on_pause() {
  if (!over_ && !unsent_.empty()) call_->responder().write(std::exchange(unsent_, {}));
}

std::string ChatResponder::with_unsent_text(std::string text) {
  return unsent_.empty() ? std::move(text) : std::exchange(unsent_, {}).append(text);
}

bool ChatResponder::is_ready() {
  const front::Responder& client = call_->responder();
  if (client.backlog() <= kBacklogPause) return true;
  client.on_drained(kBacklogResume, later(&ChatResponder::resume));
  return false;
}

void ChatResponder::resume() {
  if (run_) run_->resume();
}

// After an early head, retries are invisible to the client; only the final outcome is sent.
void ChatResponder::send_heartbeat() {
  if (over_) return;
  if (opened_) {
    call_->responder().write(schemas::ChatChunks::kHeartbeat);
    return;
  }
  opened_early_ = !opening_;
  if (opened_early_) opening_ = std::make_unique<front::Reply>(model_stream_head());
  open(schemas::ChatChunks::kHeartbeat);
}

void ChatResponder::before_sending(const inference::CallCost& cost, std::function<void(bool go)> go) {
  budget_->allow(cost, [weak = weak_from_this(), go = std::move(go)](const base::Status& allowed) {
    const auto self = weak.lock();
    if (!allowed && self) self->cancel_with_error(allowed.error());
    go(allowed && self);
  });
}

void ChatResponder::on_failed_calls(const inference::ChatHead& head, std::optional<double> cost_usd,
                                    const schemas::Charge& charged) {
  count(charged);
  head_ = head;
  call_->set_model(head.model);
  failures_cost_ = cost_usd;
}

void ChatResponder::on_end(base::Result<inference::ChatResult> end) {
  if (over_) return;
  if (end) count(end->charged);
  send_end(std::move(end));
  over();
}

void ChatResponder::send_end(base::Result<inference::ChatResult>&& end) {
  if (!end) return send_error(end.error());
  if (!chunks_) return send_whole_reply(*std::move(end));
  schemas::ChatMetadata facts = facts_of(*end);
  if (opened_early_ && !head_.dropped.empty())
    facts.extra["dropped_params"] = schemas::dropped_text(head_.dropped);
  const std::string last = with_unsent_text(chunks_->end(facts, end->reply.tools));
  open({});
  call_->responder().end(last);
}

// A long reply is serialized on the pool.
void ChatResponder::send_whole_reply(inference::ChatResult&& end) {
  const std::size_t bytes = text_bytes(end.reply);
  const bool old_functions = chunk_options_.old_functions;
  if (bytes <= kSmallReply) return send_whole(context_, *call_, head_, end, bytes, old_functions);
  const auto kept = std::make_shared<const inference::ChatResult>(std::move(end));
  const bool posted =
      context_.pool.post_reply(base::Pool::Queue::kLarge,
                               [&context = context_, call = call_, head = head_, kept, bytes, old_functions] {
                                 send_whole(context, *call, head, *kept, bytes, old_functions);
                               });
  if (!posted) call_->fail(shutting_down());
}

void ChatResponder::send_error(const base::Error& error) {
  if (!chunks_ && !opened_) return send_failure(error);
  open({});
  fail_stream(*call_, error, head_.model, std::exchange(unsent_, {}));
}

void ChatResponder::send_failure(const base::Error& error) {
  const std::string& path = call_->head().path;
  front::Reply reply =
      inference::breaks_schema(error) ? permanent_failure(path, error) : error_reply(path, error);
  add_chat_headers(reply, head_.model, head_.attempts, schemas::dropped_text(head_.dropped), failures_cost_);
  call_->fail(error, std::move(reply));
}

void ChatResponder::cancel_with_error(const base::Error& why) {
  if (over_) return;
  if (run_) run_->cancel();
  send_error(why);
  over();
}

void ChatResponder::on_disconnect() {
  if (over_) return;
  if (run_) run_->cancel();
  over();
}

void ChatResponder::count(const schemas::Charge& used) {
  used_ = used;
  context_.tokens.settle(*call_, used.tokens);
}

// Both may be on the stack, so the next turn of the loop destroys them.
void ChatResponder::over() {
  over_ = true;
  if (run_) count(run_->charged());
  budget_->settle(used_);
  const auto self = shared_from_this();
  context_.active_responders.remove(self);
  context_.loop.post([self, run = std::exchange(run_, nullptr)] {});
}

bool ActiveResponders::add(const std::shared_ptr<ActiveResponder>& responder) {
  if (!closed_) open_.insert(responder);
  return !closed_;
}

void ActiveResponders::remove(const std::shared_ptr<ActiveResponder>& responder) {
  if (const auto beat = std::exchange(responder->beat_, std::nullopt)) heartbeats_.erase(*beat);
  open_.erase(responder);
}

void ActiveResponders::start_heartbeat(ActiveResponder& responder, std::chrono::milliseconds period) {
  period_ = period;
  const auto due = std::chrono::steady_clock::now() + period;
  responder.beat_ = heartbeats_.insert(heartbeats_.end(), PendingHeartbeat{due, &responder});
  if (!awaits_beat_) schedule_heartbeat();
}

void ActiveResponders::schedule_heartbeat() {
  awaits_beat_ = !heartbeats_.empty();
  if (!awaits_beat_) return;
  const auto wait = heartbeats_.front().due - std::chrono::steady_clock::now();
  next_beat_ = loop_.after(std::chrono::ceil<std::chrono::milliseconds>(wait),
                           [this, alive = std::weak_ptr<bool>(alive_)] {
                             if (alive.lock()) send_due_heartbeats();
                           });
}

void ActiveResponders::send_due_heartbeats() {
  const auto now = std::chrono::steady_clock::now();
  while (!heartbeats_.empty() && heartbeats_.front().due <= now) {
    const auto first = heartbeats_.begin();
    first->due = now + period_;
    heartbeats_.splice(heartbeats_.end(), heartbeats_, first);
    first->responder->send_heartbeat();
  }
  schedule_heartbeat();
}

void ActiveResponders::drain(std::chrono::milliseconds grace) {
  loop_.post([this, grace] {
    if (!closed_) grace_ = loop_.after(grace, [this] { end_all(); });
  });
}

void ActiveResponders::end_all() {
  closed_ = true;
  const std::vector<std::shared_ptr<ActiveResponder>> all(open_.begin(), open_.end());
  for (const auto& each : all) each->cancel_with_error(shutting_down());
}

void ActiveResponders::stop() {
  std::promise<void> done;
  loop_.post([this, &done] {
    drop_all();
    done.set_value();
  });
  done.get_future().wait();
}

void ActiveResponders::drop_all() {
  closed_ = true;
  grace_.cancel();
  next_beat_.cancel();
  const std::vector<std::shared_ptr<ActiveResponder>> all(open_.begin(), open_.end());
  for (const auto& each : all) each->on_disconnect();
}

}  // namespace millrace::api

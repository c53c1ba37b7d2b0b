#include "api/call.h"

#include <algorithm>

#include "api/headers.h"
#include "platform/base/log.h"
#include "schemas/dropped.h"

namespace millrace::api {
namespace {

constexpr std::string_view kDroppedHeader = "x-millrace-dropped-params";
constexpr int kClientGone = 499;      // in metrics and log: the client disconnected before its response
constexpr double kSlowSeconds = 1.0;  // slower requests are logged at info

base::LogLevel level_of(int status, double seconds) {
  if (status >= 500) return base::LogLevel::kWarn;
  return status >= 300 || seconds >= kSlowSeconds ? base::LogLevel::kInfo : base::LogLevel::kDebug;
}

}  // namespace

Call::Call(const front::Head& head, HttpMetrics& metrics)
    : metrics_(metrics), request_id_(api::request_id(head)), arrived_(head.arrived) {}

Call::~Call() {
  if (LiveCalls* const list = links.list) list->remove(*this);
  if (!begun_ || answered_) return;
  if (responder_.alive()) {
    fail(base::error(
        base::Code::kInternal,
        "Internal error: the request ended without a response. Look for the request id in the server's log"));
  } else {
    log_request(request_.head, kClientGone, log_fields());
  }
}

bool Call::grow(std::uint64_t bytes) {
  const auto in_memory =
      static_cast<std::size_t>(upload ? std::min<std::uint64_t>(bytes, upload->memory_max()) : bytes);
  body_skipped = !budget.grow(in_memory);
  return !body_skipped;
}

void Call::begin(front::Request request, front::Responder responder) {
  request_ = std::move(request);
  responder_ = std::move(responder);
  begun_ = true;
}

void Call::drop_body() {
  std::string().swap(request_.body);
  request_.sink = nullptr;
  upload = nullptr;
  budget.shrink(0);
}

void Call::drop_headers() {
  decltype(front::Head::headers)().swap(request_.head.headers);
  std::string().swap(request_.head.query);
}

void Call::set_job_id(std::string job_id) {
  const std::lock_guard lock(job_mutex_);
  job_id_ = std::move(job_id);
}

std::string Call::job_id() {
  const std::lock_guard lock(job_mutex_);
  return job_id_;
}

void Call::set_model(std::string model) {
  const std::lock_guard lock(job_mutex_);
  model_ = std::move(model);
}

Call::LogFields Call::log_fields() {
  const std::lock_guard lock(job_mutex_);
  return {job_id_, model_, cause_};
}

void Call::reply(front::Reply reply) {
  if (!claim_reply()) return;
  if (reply.body.size() > kSmallReply) stay_live(reply);
  responder_.send(with_common_headers(request_.head, std::move(reply)));
}

// A slow client may still be reading the reply, or the end of the stream, when its key is revoked.
void Call::stay_live(front::Reply& reply) {
  using Held = std::pair<CallPtr, std::shared_ptr<void>>;
  reply.reservation = std::make_shared<Held>(weak_from_this().lock(), std::move(reply.reservation));
}

// If the body is still arriving, the front end sends the error, or the guard as soon as it has arrived.
void Call::revoke() {
  revoked_ = true;
  if (!begun_) return;
  if (!claim_reply()) {
    responder_.cancel(std::nullopt);
    return;
  }
  const base::Error error = key_error(base::Code::kKeyInvalid);
  {
    const std::lock_guard lock(job_mutex_);
    cause_ = base::name(error.code);
  }
  front::Reply reply = error_reply(request_.head.path, error);
  add_header(reply, "x-request-id", request_id_);
  add_cors_headers(reply, cors);
  log_request(request_.head, reply.status, log_fields());
  responder_.cancel(std::move(reply));
}

void Call::fail(const base::Error& error, const schemas::Problems& problems) {
  fail(error, error_reply(request_.head.path, error, problems));
}

void Call::fail(const base::Error& error, front::Reply prepared_reply) {
  {
    const std::lock_guard lock(job_mutex_);
    cause_ = base::name(error.code);
  }
  reply(std::move(prepared_reply));
}

bool Call::start_stream(front::Reply head, std::optional<std::uint64_t> length) {
  if (!claim_reply()) return false;
  stay_live(head);
  return responder_.start_stream(with_common_headers(request_.head, std::move(head)), length);
}

bool Call::start_stream(front::Reply head, std::string_view first) {
  if (!claim_reply()) return false;
  stay_live(head);
  return responder_.start_stream(with_common_headers(request_.head, std::move(head)), first);
}

void Call::add_ignored_header(front::Reply& reply) const {
  if (ignored.empty() || reply.status >= 400) return;
  schemas::DroppedParams names;
  for (const std::string& name : ignored) names.push_back({name});
  const std::string text = schemas::dropped_text(names);
  const auto before = std::ranges::find(reply.headers, kDroppedHeader, &front::Header::name);
  if (before == reply.headers.end()) return add_header(reply, kDroppedHeader, text);
  before->value.append(", ").append(text);
}

front::Reply Call::with_common_headers(const front::Head& head, front::Reply reply) {
  add_header(reply, "x-request-id", request_id_);
  const LogFields fields = log_fields();
  if (!fields.job_id.empty()) add_header(reply, "x-millrace-job", fields.job_id);
  if (rate) add_rate_headers(reply, *rate, "requests");
  if (token_rate) add_rate_headers(reply, *token_rate, "tokens");
  add_ignored_header(reply);
  add_cors_headers(reply, cors);
  log_request(head, reply.status, fields);
  return reply;
}

void Call::log_request(const front::Head& head, int status, const LogFields& log_fields) {
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - arrived_;
  metrics_.record(route, status, took.count());
  const base::LogLevel level = level_of(status, took.count());
  if (!base::log_enabled(level)) return;
  base::log(level, "http_request",
            {{"request_id", request_id_},
             {"method", head.method},
             {"path", head.path},
             {"status", status},
             {"seconds", took.count()},
             {"tenant", principal ? std::string_view(principal->tenant) : std::string_view()},
             {"key_id", principal ? std::string_view(principal->key_id) : std::string_view()},
             {"job_id", log_fields.job_id},
             {"model", log_fields.model},
             {"code", log_fields.cause},
             {"peer", head.peer}});
}

}  // namespace millrace::api

#include "api/admission/guard.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "api/admission/minute_rate.h"
#include "api/headers.h"
#include "api/jobs/job_scope.h"
#include "api/jobs/job_text.h"
#include "api/machines/machine_calls.h"
#include "api/routing/router.h"
#include "api/tenants/usage_meter.h"
#include "platform/base/bytes.h"
#include "platform/base/ip_address.h"
#include "platform/base/log.h"
#include "platform/base/utf8.h"
#include "schemas/media/document_type.h"

namespace millrace::api {
namespace {

using base::Code;

constexpr std::chrono::seconds kShareAgain{1};
constexpr std::size_t kQueryParametersMax = 100;
constexpr std::size_t kShownPairMax = 128;  // bytes of an invalid query parameter that the message repeats

bool has_body(const front::Head& head) { return head.chunked || head.content_length.value_or(0) > 0; }

std::string_view content_type_of(const front::Head& head) { return head.header("content-type").value_or(""); }

// The form in which the client sends the body.
enum class BodyForm : std::uint8_t { kWhole, kForm, kFile };
BodyForm body_form(const front::Head& head, const Route& route) {
  if (is_form(route.body)) return BodyForm::kForm;
  if (route.body == BodyKind::kFile) return BodyForm::kFile;
  if (route.body != BodyKind::kDocument || is_json_type(content_type_of(head))) return BodyForm::kWhole;
  return media_type(content_type_of(head)).starts_with("multipart/") ? BodyForm::kForm : BodyForm::kFile;
}

const FileRules& file_rules(const Route& route) {
  if (route.body == BodyKind::kFile) return kAnyFileRules;
  if (route.body == BodyKind::kFileForm) return kStoredFileRules;
  if (route.body == BodyKind::kPartForm) return kUploadPartRules;
  return route.body == BodyKind::kDocument ? kDocumentRules : kRecordingRules;
}

// The bytes of the body that will be in memory at once, as far as the head says. An upload is streamed to
// disk.
std::size_t declared(const front::Head& head, const Route& route) {
  const auto bytes = static_cast<std::size_t>(head.content_length.value_or(0));
  return body_form(head, route) == BodyForm::kWhole ? bytes : std::min(bytes, file_rules(route).memory_max);
}

// Empty parts, for example behind a last `&`, are no parameters (query_pairs).
std::size_t parameter_count(std::string_view query) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < query.size(); ++i) {
    const bool begins = query[i] != '&' && (i == 0 || query[i - 1] == '&');
    if (begins) ++count;
  }
  return count;
}

bool is_health(std::string_view path) { return path == "/health" || path == "/livez" || path == "/readyz"; }

base::Result<std::string> boundary_of(const front::Head& head) {
  return front::form_boundary(content_type_of(head));
}

// The type of a document that is the body itself. The document's bytes decide what it is.
bool is_document_type(std::string_view type) {
  const auto types = schemas::document_mimes();
  return type == "application/octet-stream" || std::ranges::find(types, type) != types.end();
}

// A form would be stored with its boundaries.
base::Status readable_file(const front::Head& head) {
  if (!media_type(content_type_of(head)).starts_with("multipart/")) return {};
  return base::error(Code::kUnsupportedType,
                     "The body must be the bytes of the file, not a form: `curl -T FILE`, not `curl -F`");
}

// True if the body can be read in the form in which it is sent.
base::Status readable(const front::Head& head, const Route& route) {
  switch (body_form(head, route)) {
    case BodyForm::kWhole:
      if (is_json_type(content_type_of(head))) return {};
      return base::error(Code::kUnsupportedType,
                         "The body must be sent with `Content-Type: application/json`");
    case BodyForm::kForm:
      if (const auto boundary = boundary_of(head); !boundary) return boundary.error();
      return {};
    case BodyForm::kFile:
      if (route.body == BodyKind::kFile) return readable_file(head);
      if (is_document_type(media_type(content_type_of(head)))) return {};
      return base::error(Code::kUnsupportedType,
                         "The body must be sent with `Content-Type: application/json`, as "
                         "`multipart/form-data`, or as the document itself with its own type, such as "
                         "`application/pdf`");
  }
  return {};
}

// The server does not decode bodies, so encoded ones are rejected (RFC 9110 §8.4, §15.5.16).
bool has_content_encoding(const front::Head& head) {
  const std::string_view coding = trimmed(head.header("content-encoding").value_or(""));
  constexpr std::string_view kNone = "identity";
  const bool none = std::equal(coding.begin(), coding.end(), kNone.begin(), kNone.end(),
                               [](char a, char b) { return (a | 0x20) == b; });
  return has_body(head) && !coding.empty() && !none;
}

base::Error missing_key_error(const front::Head& head) {
  if (trimmed(head.header("authorization").value_or("")).empty()) return key_error(Code::kUnauthenticated);
  return base::error(Code::kUnauthenticated,
                     "The Authorization header contains no Bearer key: send `Authorization: Bearer KEY`, or "
                     "`X-API-Key: KEY`");
}

}  // namespace

std::size_t body_memory_max(const Route& route) {
  const bool is_streamed = is_form(route.body) || route.body == BodyKind::kFile;
  return is_streamed ? std::min(route.body_max, file_rules(route).memory_max) : route.body_max;
}

base::Error body_budget_exhausted() {
  return base::error(Code::kOverloaded,
                     "Too many request bodies are being received at once (http.body_budget); retry");
}

front::Admission Guard::admit(const front::Head& head) {
  auto call = std::make_shared<Call>(head, dependencies_.metrics);
  front::Admit granted;
  if (const OptionalError refusal = check(head, *call)) {
    front::Reply reply = refusal_reply(head, *refusal);
    if (has_body(head)) return call->with_common_headers(head, std::move(reply));
    call->refusal = std::make_unique<front::Reply>(std::move(reply));
  } else {
    granted.body_max = call->route->body_max;
    granted.skip_body = call->body_skipped;
    open_upload(head, *call);
    granted.sink = call->upload;
    granted.meter = call.get();
  }
  granted.while_draining = call->route != nullptr && call->route->access == Access::kOpen;
  granted.revoked = &call->revoked();
  granted.authenticated = call->principal != nullptr;
  granted.request_state = std::move(call);
  return granted;
}

Guard::OptionalError Guard::check(const front::Head& head, Call& call) {
  call.cors = context_.cors.answer(head);
  if (auto no = host(head)) return no;
  if (auto no = route(head, call)) return no;
  if (auto no = authenticate(head, call)) return no;
  if (auto no = drain(call)) return no;
  if (!call.key_unknown) return check_with_key(head, call);
  admit_unauthenticated(head, call);
  return {};
}

Guard::OptionalError Guard::check_with_key(const front::Head& head, Call& call) {
  if (auto no = scope(call)) return no;
  if (auto no = encoding(head, call)) return no;
  if (auto no = idempotency(head, call)) return no;
  if (auto no = share(call)) return no;
  if (auto no = rate(call)) return no;
  if (auto no = content_type(head, call)) return no;
  if (auto no = size(head, call)) return no;
  return bytes(head, call);
}

// The key may be new. Bodies sent with unknown keys use a separate budget. If the body does not fit into it,
// or if nothing parses the body, the body is discarded and only the key is checked.
void Guard::admit_unauthenticated(const front::Head& head, Call& call) {
  if (!has_body(head)) return;
  const bool uploaded = body_form(head, *call.route) != BodyForm::kWhole;
  const bool is_readable = (!uploaded || readable(head, *call.route)) &&
                           (call.route->body == BodyKind::kNone || !has_content_encoding(head));
  open_unauthenticated_budget(head, call);
  call.body_skipped =
      !is_readable || head.content_length.value_or(0) > call.route->body_max ||
      !dependencies_.unauthenticated_budget.fits(declared(head, *call.route), call.address_share.get());
}

void Guard::open_unauthenticated_budget(const front::Head& head, Call& call) {
  call.address_share = dependencies_.address_shares.of(base::client_of(head.peer));
  call.budget = dependencies_.unauthenticated_budget.open(call.address_share.get());
}

// A file is stored while it arrives. If the key is unknown, that starts after the key has been looked up.
void Guard::open_upload(const front::Head& head, Call& call) {
  const BodyForm form = body_form(head, *call.route);
  if (form == BodyForm::kWhole || !has_body(head) || call.body_skipped) return;
  const auto boundary = boundary_of(head);
  if (form == BodyForm::kForm && !boundary) return;
  const auto expected = static_cast<std::int64_t>(head.content_length.value_or(0));
  const FileRules& rules = file_rules(*call.route);
  call.upload = std::make_shared<Upload>(context_.pool, context_.store.blobs(), rules,
                                         boundary ? std::optional(*boundary) : std::nullopt, expected);
  if (call.key_unknown) return prefetch_key(head, call);
  call.upload->start();
}

// A form that waits for its key may not fit into memory, so the key is looked up at once. The decision about
// the request is made when it runs, as for every other request.
void Guard::prefetch_key(const front::Head& head, Call& call) {
  auto task = [this, scope = call.route->scope, waiting = std::weak_ptr(call.upload),
               once = call.key_look_up = std::make_shared<KeyLookUp>(), key = std::string(credential(head)),
               address = head.peer] {
    const PrincipalPtr principal = once->look_up(dependencies_.auth, key, address).principal;
    const auto upload = waiting.lock();
    if (!upload) return;
    principal && principal->scopes.allows(scope) ? upload->start() : upload->cancel();
  };
  if (!context_.pool.post(base::Pool::Queue::kQuick, std::move(task))) call.upload->cancel();
}

// Only HTTP/1.0 has no Host. Health checks of load balancers send any.
Guard::OptionalError Guard::host(const front::Head& head) const {
  const auto host = head.header("host");
  if (!host || context_.hosts.contains(*host) || is_health(head.path)) return {};
  return wrong_host(*host);
}

Guard::OptionalError Guard::route(const front::Head& head, Call& call) {
  Match match = router_.match(head.method, head.path);
  call.route = match.route;
  call.params = std::move(match.params);
  if (match.route != nullptr) return {};
  if (match.allow.empty()) return base::error(Code::kNotFound, no_such_path(router_, head.path));
  return base::error(Code::kMethodNotAllowed,
                     "This path does not allow that method; allowed: " + std::string(match.allow));
}

// What is sent percent-encoded becomes text in JSON.
Guard::OptionalError Guard::encoding(const front::Head& head, const Call& call) const {
  if (!std::ranges::all_of(call.params, base::is_utf8))
    return base::error(Code::kBadRequest, "The path is not UTF-8 after percent-decoding", "path");
  if (head.query.find('%') == std::string::npos) return {};
  for (const auto& [name, value] : query_pairs(head.query)) {
    if (!base::is_utf8(name))
      return base::error(Code::kBadRequest, "The name of a query parameter is not UTF-8");
    if (!base::is_utf8(value))
      return base::error(Code::kBadRequest, "The query parameter '" + name + "' is not UTF-8", name);
  }
  return {};
}

Guard::OptionalError Guard::authenticate(const front::Head& head, Call& call) {
  const Access access = call.route->access;
  const bool open = access == Access::kOpen || (access == Access::kMetrics && context_.options.metrics_open);
  if (open) return {};
  Auth::Decision decision;
  std::uint64_t generation = 0;
  do {
    generation = dependencies_.live_calls.generation();
    decision = dependencies_.auth.check(credential(head), head.peer);
    call.principal = decision.principal;
  } while (call.principal && !dependencies_.live_calls.add(call, generation));
  call.key_unknown = decision.needs_lookup;
  if (decision.principal || decision.needs_lookup) return {};
  return decision.refusal == Code::kUnauthenticated ? missing_key_error(head)
                                                    : key_error(decision.refusal, decision.retry_after);
}

Guard::OptionalError Guard::scope(Call& call) {
  if (!call.principal) return {};
  if (call.route->access == Access::kKey) return {};
  if (!call.principal->scopes.allows(call.route->scope))
    return scope_error(*call.principal, call.route->scope);
  const auto job = call.route->needs_kind_scope ? shown_job_id(call.params.front()) : std::nullopt;
  if (!job) return {};
  const base::Status shown = check_scope(*call.principal, job->kind);
  return shown ? OptionalError() : shown.error();
}

// A client that sends a key relies on it, so a route that does not honour it says so.
Guard::OptionalError Guard::idempotency(const front::Head& head, Call& call) const {
  const KeyUse use = key_use(*call.route);
  if (use == KeyUse::kHonoured || !head.header("idempotency-key")) return {};
  if (use == KeyUse::kRefused)
    return base::error(
        Code::kBadRequest,
        "This call does not support Idempotency-Key: a repeat of it would not be noticed. Send it without",
        std::string(kIdempotencyKey));
  call.ignored.emplace_back(kIdempotencyKey);
  return {};
}

// A tenant whose requests all wait leaves connections for the others.
Guard::OptionalError Guard::share(Call& call) {
  if (!call.principal) return {};
  call.permit = nullptr;  // of an earlier look-up
  call.permit = dependencies_.request_permits.take(call.tenant());
  if (call.permit) return {};
  base::Error error = base::error(
      Code::kRateLimited, "This tenant has " + std::to_string(dependencies_.request_permits.most()) +
                              " requests running, 3/4 of http.connections_max, its share; retry later");
  error.retry_after = kShareAgain;
  return error;
}

Guard::OptionalError Guard::rate(Call& call) {
  if (!call.principal) return {};
  const auto admitted =
      admit_within_limits(dependencies_.rate, RateUse::kCount, *call.principal,
                          schemas::Quota::kRequestsPerMinute, context_.clock.boot(), call.rate);
  if (!admitted) return admitted.error();
  context_.usage.add(call.principal->tenant, call.principal->key_id, 1, {});
  return {};
}

Guard::OptionalError Guard::content_type(const front::Head& head, Call& call) {
  if (!has_body(head) || call.route->body == BodyKind::kNone) return {};
  if (has_content_encoding(head))
    return base::error(Code::kUnsupportedType,
                       "Bodies with a `Content-Encoding` such as gzip are not supported: send the body "
                       "uncompressed");
  const base::Status good = readable(head, *call.route);
  return good ? OptionalError() : good.error();
}

Guard::OptionalError Guard::size(const front::Head& head, Call& call) {
  if (head.content_length.value_or(0) <= call.route->body_max) return {};
  const auto limit = base::format_bytes(static_cast<std::int64_t>(call.route->body_max));
  return base::error(Code::kTooLarge, "The body is larger than " + limit + ", the limit of this path");
}

Guard::OptionalError Guard::bytes(const front::Head& head, Call& call) {
  if (!has_body(head)) return {};
  if (call.body_skipped) return base::error(Code::kOverloaded, "Temporarily overloaded; retry");
  if (!call.principal) {
    open_unauthenticated_budget(head, call);
    return {};
  }
  ByteBudget::Share* const share = call.principal->bodies.get();
  if (!call.begun() && !dependencies_.budget.fits(declared(head, *call.route), share))
    return body_budget_exhausted();
  ByteBudget::Reservation reservation = dependencies_.budget.open(share);
  if (!reservation.grow(call.budget.bytes())) return body_budget_exhausted();
  call.budget = std::move(reservation);
  return {};
}

Guard::OptionalError Guard::drain(Call& call) {
  if (!context_.draining || call.route->access == Access::kOpen) return {};
  return base::error(Code::kOverloaded, "The server is shutting down");
}

front::Reply Guard::refusal_reply(const front::Head& head, const base::Error& error) const {
  const bool wrong_method = error.code == Code::kMethodNotAllowed;
  const std::string_view allow =
      wrong_method ? router_.match(head.method, head.path).allow : std::string_view();
  if (wrong_method && is_preflight(head) && !context_.cors.answer(head).origin.empty())
    return preflight_reply(head, allow);
  front::Reply reply = error_reply(head.path, error);
  if (wrong_method) add_header(reply, "allow", allow);
  if (error.code == Code::kUnsupportedType && has_content_encoding(head))
    add_header(reply, "accept-encoding", "identity");
  return reply;
}

void Guard::run(front::Request request, front::Responder responder) {
  const auto call = std::static_pointer_cast<Call>(std::move(request.request_state));
  call->begin(std::move(request), std::move(responder));
  if (call->refusal) return call->reply(std::move(*call->refusal));
  if (call->key_unknown) return look_up_key(call);
  if (call->revoked()) return call->fail(key_error(Code::kKeyInvalid));
  if (call->body_skipped) return call->fail(body_budget_exhausted());
  dispatch(call);
}

void Guard::look_up_key(const CallPtr& call) {
  on_pool(context_, base::Pool::Queue::kQuick, call, [this, call] {
    const std::uint64_t generation = dependencies_.live_calls.generation();
    const front::Head& head = call->head();
    const Auth::Decision decision =
        call->key_look_up ? call->key_look_up->look_up(dependencies_.auth, credential(head), head.peer)
                          : dependencies_.auth.look_up(credential(head), head.peer);
    call->principal = decision.principal;
    if (!call->principal) return call->fail(key_error(decision.refusal, decision.retry_after));
    call->key_unknown = false;
    if (const OptionalError no = check_with_key(call->head(), *call))
      return call->fail(*no, refusal_reply(call->head(), *no));
    if (!dependencies_.live_calls.add(*call, generation)) return look_up_key(call);
    dispatch(call);
  });
}

void Guard::dispatch(const CallPtr& call) {
  const bool large = call->body().size() > kFrontBodyMax;
  const bool named = has_machine_name(*call);  // its look-up reads the store
  switch (call->route->lane) {
    case Lane::kBody:
      if (!large && !named) return invoke(call);
      break;
    case Lane::kFront:
      if (!named) return invoke(call);
      break;
    case Lane::kPool:
      break;
  }
  const auto queue = large ? base::Pool::Queue::kLarge : base::Pool::Queue::kQuick;
  on_pool(context_, queue, call, [this, call, named] {
    if (!named || resolve_machine_name(context_, *call)) invoke(call);
  });
}

// False: an error was sent, because a filter that is misspelt or sent twice must not select the wrong rows.
bool Guard::check_query(Call& call) {
  const Route& route = *call.route;
  const std::string& query = call.head().query;
  if (query.empty() || route.access == Access::kOpen || route.access == Access::kMetrics) return true;
  const bool is_ours = !serves_other_clients(route);
  if (parameter_count(query) > kQueryParametersMax) {
    call.fail(base::error(Code::kBadRequest,
                          "The query has more than " + std::to_string(kQueryParametersMax) + " parameters"));
    return false;
  }
  if (const auto pair = invalid_pair(query); pair && is_ours) {
    call.fail(base::error(Code::kBadRequest, "The query parameter '" +
                                                 std::string(pair->substr(0, kShownPairMax)) +
                                                 "' has a `%` without two hexadecimal digits; send `%25` for "
                                                 "a percent sign"));
    return false;
  }
  const schemas::QueryPairs pairs = query_pairs(query);
  auto unknown = schemas::unknown_names(route.operation.query, pairs);
  auto repeated = schemas::repeated_names(pairs);
  if (unknown.empty() && repeated.empty()) return true;
  if (!is_ours) {
    std::ranges::move(unknown, std::back_inserter(call.ignored));
    std::ranges::move(repeated, std::back_inserter(call.ignored));
    return true;
  }
  auto problems = schemas::unknown_parameters(route.operation.query, unknown);
  std::ranges::move(schemas::repeated_parameters(repeated), std::back_inserter(problems));
  call.refuse(schemas::invalid(std::move(problems)));
  return false;
}

void Guard::invoke(const CallPtr& call) {
  try {
    if (!check_query(*call)) return;
    call->route->handler(context_, call);
  } catch (const std::exception& broken) {
    base::log_error(
        "handler_threw",
        {{"request_id", call->request_id()}, {"route", call->route->pattern}, {"error", broken.what()}});
    call->fail(base::error(Code::kInternal, "Internal error: look for the request id in the server's log"));
  }
}

bool on_pool(Context& context, base::Pool::Queue queue, const CallPtr& call, std::function<void()> task) {
  if (context.pool.post(queue, std::move(task))) return true;
  call->fail(base::error(Code::kOverloaded, "Temporarily overloaded; retry"));
  return false;
}

void reply_on_pool(Context& context, const CallPtr& call, std::function<void()> task) {
  if (context.pool.post_reply(base::Pool::Queue::kQuick, std::move(task))) return;
  call->fail(base::error(Code::kOverloaded, "The server is shutting down"));
}

}  // namespace millrace::api

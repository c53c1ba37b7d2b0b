#include "ai/inference/mcp/session.h"

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::inference {
namespace {

using schemas::Json;
using JsonResult = base::Result<Json>;
using ReplyResult = base::Result<McpReply>;

constexpr std::size_t kSessionMax = 1024;  // bytes of a session id
constexpr const char *kInitialize = "initialize", *kInitialized = "notifications/initialized";

// Status codes with which servers of older versions refuse a request of the modern version.
constexpr std::array<int, 6> kLegacyStatuses{400, 404, 405, 406, 415, 422};

std::string version_of(const Json& initialized) {
  const auto found = initialized.find("protocolVersion");
  return found != initialized.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// The version with sessions to continue with; empty: the server has no such version.
std::string older_version(const McpReply& reply) {
  const McpMessage& message = reply.message;
  if (message.is_modern_error()) {
    const auto common = std::ranges::find_if(kMcpLegacy, [&](std::string_view version) {
      return std::ranges::find(message.supported, version) != message.supported.end();
    });
    return common == kMcpLegacy.end() ? std::string() : std::string(*common);
  }
  const bool is_old = std::ranges::find(kLegacyStatuses, reply.status) != kLegacyStatuses.end() ||
                      (reply.status == 200 && message.kind == McpMessage::Kind::kError);
  return std::string(is_old ? kMcpLegacy.front() : std::string_view());
}

base::Error refused(const McpCall& call, const McpReply& reply) {
  const std::string status = "HTTP " + std::to_string(reply.status);
  if (reply.status == 401 || reply.status == 403)
    return mcp_fault("rejected the credentials (" + status +
                     "); the operator can configure headers for an MCP slug");
  if (reply.status >= 300 && reply.status < 400)
    return mcp_fault("redirects (" + status + "); redirects are not followed: give the final URL");
  std::string what = "refused " + call.method + " (";
  if (reply.message.kind != McpMessage::Kind::kError) return mcp_fault(what.append(status).append(")"));
  what.append("code ").append(std::to_string(reply.message.code)).append(")");
  return mcp_fault(
      reply.message.error_message.empty() ? what : what.append(": ").append(reply.message.error_message));
}

McpDeadline earlier_of(McpDeadline deadline, std::chrono::milliseconds from_now) {
  return std::min(deadline, std::chrono::steady_clock::now() + from_now);
}

base::Error initialize_timed_out(std::chrono::milliseconds limit) {
  std::string what = "the server did not finish initialize within ";
  what.append(std::to_string(limit.count())).append(" ms (initialize_timeout)");
  return base::error(base::Code::kUpstreamTimeout, std::move(what));
}

JsonResult result_of(const McpCall& call, McpReply reply) {
  if (reply.message.kind == McpMessage::Kind::kResult) return std::move(reply.message.result);
  return refused(call, reply);
}

}  // namespace

McpSession::McpSession(net::Loop& loop, McpChannel& channel, const McpLimits& limits, std::string version,
                       McpTransport remembered)
    : channel_(channel),
      limits_(limits),
      stream_(loop, channel, limits, version),
      version_given_(!version.empty()),
      version_(std::move(version)) {
  if (version_ == kMcpModern) set_transport(McpTransport::kStateless);
  if (is_legacy_mcp(version_)) set_transport(McpTransport::kSessions);
  if (version_given_) return;
  version_ = kMcpLegacy.front();
  set_transport(remembered);
  remembered_ = remembered != McpTransport::kUnknown;
}

void McpSession::set_transport(McpTransport transport) {
  stream_.set_in_use(transport == McpTransport::kHttpSse);
  transport_ = stream_.in_use() ? McpTransport::kSessions : transport;
}

net::Task<JsonResult> McpSession::call(McpCall call, McpDeadline deadline, net::Cancel& cancel) {
  if (transport_ == McpTransport::kUnknown && version_given_) {
    co_return base::error(base::Code::kInvalidField, "MCP version " + version_ + " is not supported; " +
                                                         std::string(kMcpModern) + " and " +
                                                         std::string(kMcpLegacy.front()) + " are supported");
  }
  if (transport_ == McpTransport::kSessions || stream_.in_use()) {
    const bool transport_is_cached = remembered_ && sessions_ == 0;
    McpCall again = transport_is_cached ? call : McpCall();
    net::Task<JsonResult> wait = call_in_session(std::move(call), deadline, cancel);
    JsonResult result = co_await wait;
    if (result || !transport_is_cached || sessions_ > 0 || cancel.requested()) co_return result;
    if (remembered_) set_transport(McpTransport::kUnknown);
    call = std::move(again);
  }
  net::Task<JsonResult> wait = discover(std::move(call), deadline, cancel);
  co_return co_await wait;
}

// If the server refuses the remembered transport, a request that is not idempotent is not repeated in a
// session: the refusal is its result.
net::Task<JsonResult> McpSession::discover(McpCall call, McpDeadline deadline, net::Cancel& cancel) {
  net::Task<ReplyResult> wait = channel_.post(stateless_post(call, deadline), cancel);
  ReplyResult reply = co_await wait;
  if (!reply) co_return reply.error();
  const bool is_final = transport() == McpTransport::kStateless && (!remembered_ || call.not_idempotent);
  const std::string older = is_final ? std::string() : older_version(*reply);
  if (older.empty()) {
    if (reply->message.kind == McpMessage::Kind::kResult) {
      set_transport(McpTransport::kStateless);
      remembered_ = false;
    }
    co_return result_of(call, *std::move(reply));
  }
  version_ = older;
  set_transport(McpTransport::kSessions);
  remembered_ = false;
  net::Task<JsonResult> in_session = call_in_session(std::move(call), deadline, cancel);
  co_return co_await in_session;
}

McpPost McpSession::stateless_post(const McpCall& call, McpDeadline deadline) {
  McpPost post;
  post.id = ++last_id_;
  Json params = call.params;
  params["_meta"] = mcp_meta();
  post.body = mcp_request(post.id, call.method, std::move(params));
  post.headers = call.headers;
  post.headers.emplace_back("MCP-Protocol-Version", kMcpModern);
  post.headers.emplace_back("Mcp-Method", call.method);
  if (!call.name.empty()) post.headers.emplace_back("Mcp-Name", mcp_header_value(call.name));
  post.deadline = deadline;
  post.not_idempotent = call.not_idempotent;
  return post;
}

McpPost McpSession::session_post(const McpCall& call, McpDeadline deadline) {
  McpPost post;
  post.id = ++last_id_;
  post.body = mcp_request(post.id, call.method, call.params);
  post.headers = session_headers();
  post.deadline = deadline;
  post.in_session = true;
  post.not_idempotent = call.not_idempotent;
  return post;
}

McpHeaders McpSession::session_headers() const {
  McpHeaders headers;
  if (!agreed_version_.empty()) headers.emplace_back("MCP-Protocol-Version", agreed_version_);
  if (!session_.empty()) headers.emplace_back("Mcp-Session-Id", session_);
  return headers;
}

net::Task<JsonResult> McpSession::call_in_session(McpCall call, McpDeadline deadline, net::Cancel& cancel) {
  bool renewed = false;
  while (true) {
    if (!has_session() || renewing_) {
      net::Task<base::Status> wait = renew(sessions_, deadline, cancel);
      const base::Status ready = co_await wait;
      if (!ready) co_return ready.error();
    }
    const int lost_session = sessions_;
    const bool in_session = !session_.empty();
    net::Task<ReplyResult> wait = send(session_post(call, deadline), cancel);
    ReplyResult reply = co_await wait;
    if (!reply) co_return reply.error();
    const bool may_renew = stream_.in_use() ? !stream_.is_open() : in_session;
    if (!may_renew || !is_lost_session(*reply) || std::exchange(renewed, true))
      co_return result_of(call, *std::move(reply));
    net::Task<base::Status> again = renew(lost_session, deadline, cancel);
    const base::Status ready = co_await again;
    if (!ready) co_return ready.error();
  }
}

// Several requests may find out at the same time that session number `lost_session` is lost. One of them
// creates the next.
net::Task<base::Status> McpSession::renew(int lost_session, McpDeadline deadline, net::Cancel& cancel) {
  if (sessions_ != lost_session) co_return base::Status();
  if (renewing_) {
    net::Awaited<base::Status>::Begin begin = [this](std::function<void(base::Status)> done) {
      renewal_waiters_.push_back(std::move(done));
    };
    net::Awaited<base::Status> wait(std::move(begin));
    co_return co_await wait;
  }
  renewing_ = true;
  net::Task<base::Status> work = initialize(deadline, cancel);
  base::Status made = co_await work;
  renewing_ = false;
  if (made) {
    ++sessions_;
  } else {
    stream_.end(made.error());  // an open stream would count as a session
  }
  for (const auto& resume : std::exchange(renewal_waiters_, {})) resume(made);
  co_return made;
}

// `initialize` has a shorter time-out than calls, because a server that does not answer it has not begun any
// work.
net::Task<base::Status> McpSession::initialize(McpDeadline deadline, net::Cancel& cancel) {
  const McpDeadline initialized_by = earlier_of(deadline, limits_.initialize_timeout);
  net::Task<base::Status> wait = make_session(initialized_by, cancel);
  base::Status made = co_await wait;
  const bool is_late =
      !made && made.error().code == base::Code::kUpstreamTimeout && initialized_by < deadline;
  if (is_late) co_return initialize_timed_out(limits_.initialize_timeout);
  co_return made;
}

net::Task<base::Status> McpSession::make_session(McpDeadline deadline, net::Cancel& cancel) {
  agreed_version_.clear();
  session_.clear();
  net::Task<ReplyResult> wait = request_initialize(deadline, cancel);
  ReplyResult reply = co_await wait;
  if (!reply) co_return reply.error();
  const std::string session = reply->session;
  const McpCall call{.method = kInitialize};
  const JsonResult result = result_of(call, *std::move(reply));
  if (!result) co_return result.error();
  if (base::Status taken = accept_session(*result, session); !taken) co_return taken;
  net::Task<base::Status> initialized = send_initialized(deadline, cancel);
  co_return co_await initialized;
}

// The stream does it, because only the response to `initialize` shows whether the server needs the stream.
net::Task<ReplyResult> McpSession::request_initialize(McpDeadline deadline, net::Cancel& cancel) {
  std::function<McpPost()> make_post = [this, deadline] {
    McpCall call;
    call.method = kInitialize;
    call.params = mcp_initialize_params(version_);
    return session_post(call, deadline);
  };
  // Another request may find out the transport meanwhile.
  std::function<bool()> is_first = [this] { return transport_ == McpTransport::kSessions && sessions_ == 0; };
  net::Task<ReplyResult> wait =
      stream_.initialize(std::move(make_post), std::move(is_first), deadline, cancel);
  co_return co_await wait;
}

net::Task<base::Status> McpSession::send_initialized(McpDeadline deadline, net::Cancel& cancel) {
  McpPost post;
  post.body = mcp_notification(kInitialized);
  post.headers = session_headers();
  post.deadline = deadline;
  net::Task<ReplyResult> wait = send(std::move(post), cancel);
  const ReplyResult reply = co_await wait;
  if (!reply) co_return reply.error();
  if (reply->status < 300) co_return base::Status();
  const McpCall notice{.method = kInitialized};
  co_return refused(notice, *reply);
}

net::Task<ReplyResult> McpSession::send(McpPost post, net::Cancel& cancel) {
  return stream_.in_use() ? stream_.post(std::move(post), cancel) : channel_.post(std::move(post), cancel);
}

base::Status McpSession::accept_session(const Json& initialized, const std::string& session) {
  agreed_version_ = version_of(initialized);
  if (!is_legacy_mcp(agreed_version_)) {
    agreed_version_.clear();
    return mcp_fault("uses an unsupported version of MCP");
  }
  const bool fits = session.size() <= kSessionMax &&
                    std::ranges::all_of(session, [](char c) { return c > 0x20 && c < 0x7f; });
  if (!fits) return mcp_fault("sent an invalid session id");
  session_ = session;
  return {};
}

void McpSession::close() {
  stream_.close();
  if (session_.empty()) return;
  channel_.send_detached("DELETE", session_headers(), {});
  session_.clear();
}

}  // namespace millrace::inference

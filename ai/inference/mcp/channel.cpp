#include "ai/inference/mcp/channel.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "ai/providers/wire_text.h"
#include "platform/net/http/http_task.h"

namespace millrace::inference {
namespace {

using base::Code;
using std::chrono::milliseconds;

constexpr int kResumesMax = 8;  // resumptions of one broken stream
constexpr milliseconds kResumeAfter{250};
constexpr milliseconds kNotifyTimeout{10'000};
constexpr std::size_t kTypeShownMax = 100;

milliseconds left_until(McpDeadline deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  return std::max(std::chrono::duration_cast<milliseconds>(left), milliseconds(1));
}

bool is_success(int status) { return status >= 200 && status < 300; }

// Messages of the guard name the field that most URLs come from.
std::string without_field(std::string text) {
  constexpr std::string_view kField = "document_url";
  const std::size_t at = text.find(kField);
  return at == std::string::npos ? text : text.replace(at, kField.size(), "the URL of the server");
}

constexpr int kInvalidParams = -32602;
constexpr std::size_t kRefusalMax = 1000;  // bytes of a refusal that are kept

bool names_a_session(std::string_view text) {
  constexpr std::string_view kWord = "session";
  const auto is_same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  return std::search(text.begin(), text.end(), kWord.begin(), kWord.end(), is_same) != text.end();
}

}  // namespace

// Other reasons for a 400, such as wrong arguments, become the result that the model gets.
bool is_lost_session(const McpReply& reply) {
  const McpMessage& message = reply.message;
  const bool has_error = message.kind == McpMessage::Kind::kError;
  const bool names_session = names_a_session(has_error ? message.error_message : reply.refusal);
  if (reply.status == 404) return true;
  if (reply.status == 400 && !has_error) return names_session || reply.refusal.empty();
  if (reply.status == 400) return names_session && message.code != kInvalidParams;
  const bool is_code_of_servers = message.code == -32000 || message.code == -32001;
  return is_success(reply.status) && is_code_of_servers && message.id.is_null() && names_session;
}

McpResponseReader::McpResponseReader(std::int64_t id, std::size_t bytes_max,
                                     std::function<void(const McpMessage&)> on_server_message)
    : id_(id), bytes_max_(bytes_max), on_server_message_(std::move(on_server_message)) {}

void McpResponseReader::begin(const net::HttpReply& head) {
  begun_ = true;
  interrupted_ = false;
  reply_.status = head.status;
  reply_.refusal.clear();
  if (const auto session = head.header("mcp-session-id"); !session.empty()) reply_.session = session;
  type_ = providers::cut_text(head.header("content-type"), kTypeShownMax);
  events_.reset();
  if (id_ == 0) {
    body_kind_ = BodyKind::kNone;
  } else if (type_.starts_with("text/event-stream") && is_success(head.status)) {
    body_kind_ = BodyKind::kEvents;
    events_.emplace([this](const net::SseEvent& event) { on_event(event); }, bytes_max_);
  } else {
    body_kind_ = type_.starts_with("application/json") ? BodyKind::kJson : BodyKind::kForeign;
  }
}

bool McpResponseReader::take(std::string_view bytes) {
  if (!is_success(reply_.status) && reply_.refusal.size() < kRefusalMax) {
    reply_.refusal += bytes.substr(0, kRefusalMax - reply_.refusal.size());
  }
  switch (body_kind_) {
    case BodyKind::kNone:
      return true;
    case BodyKind::kForeign:
      return false;
    case BodyKind::kJson:
      body_.append(bytes);
      return true;
    case BodyKind::kEvents:
      break;
  }
  if (!events_->feed(bytes) && !error_)
    error_ = mcp_fault("sent an event of more than " + std::to_string(bytes_max_) + " bytes");
  return !answered_ && !error_;
}

// Events without data only mark a position to resume from.
void McpResponseReader::on_event(const net::SseEvent& event) {
  if (answered_ || error_ || event.data.empty()) return;
  base::Result<McpMessage> message = read_mcp_message(event.data);
  if (message) return on_message(*std::move(message));
  error_ = message.error();
}

void McpResponseReader::on_message(McpMessage message) {
  switch (message.kind) {
    case McpMessage::Kind::kNone:
      return;
    case McpMessage::Kind::kNotification:
      if (on_server_message_) on_server_message_(message);
      return;
    case McpMessage::Kind::kRequest:
      if (++requests_ > kMcpServerRequestsMax) {
        error_ = mcp_fault("sent more than " + std::to_string(kMcpServerRequestsMax) +
                           " requests before its response");
      } else if (on_server_message_) {
        on_server_message_(message);
      }
      return;
    case McpMessage::Kind::kResult:
    case McpMessage::Kind::kError:
      break;
  }
  if (!answers(message)) return;
  answered_ = true;
  reply_.message = std::move(message);
}

// Errors about a request that the server could not parse have no id.
bool McpResponseReader::answers(const McpMessage& message) const {
  return message.id == id_ || (message.kind == McpMessage::Kind::kError && message.id.is_null());
}

base::Result<McpReply> McpResponseReader::end(const base::Result<net::HttpReply>& transfer) {
  if (error_) return *error_;
  if (answered_) return std::move(reply_);
  interrupted_ = events_ && (transfer || transfer.error().code == Code::kUpstream);
  if (!transfer) return transport_error(transfer.error());
  if (!begun_) begin(*transfer);
  switch (body_kind_) {
    case BodyKind::kJson:
      return whole_reply();
    case BodyKind::kEvents:
      return mcp_fault("ended its stream before the response");
    case BodyKind::kForeign:
      if (is_success(reply_.status) && !type_.empty())
        return mcp_fault("answered with " + type_ + ", not with JSON");
      break;
    case BodyKind::kNone:
      break;
  }
  return std::move(reply_);
}

base::Result<McpReply> McpResponseReader::whole_reply() {
  base::Result<McpMessage> message = read_mcp_message(std::move(body_));
  if (!message && is_success(reply_.status)) return message.error();
  const bool fits =
      message && (message->kind == McpMessage::Kind::kResult || message->kind == McpMessage::Kind::kError);
  if (fits && answers(*message)) {
    reply_.message = *std::move(message);
    reply_.refusal.clear();
  } else if (is_success(reply_.status)) {
    return mcp_fault("sent a response that does not belong to the request");
  }
  return std::move(reply_);
}

base::Error McpResponseReader::transport_error(const base::Error& error) const {
  if (error.code == Code::kTooLarge)
    return mcp_fault("sent a reply of more than " + std::to_string(bytes_max_) + " bytes");
  if (error.code == Code::kUpstreamTimeout)
    return base::error(error.code, "the server did not answer in time: " + error.message);
  return base::error(error.code, without_field(error.message));
}

std::string McpResponseReader::resume_event_id() const {
  return interrupted_ ? events_->last_id() : std::string();
}

McpChannel::McpChannel(net::Loop& loop, net::HttpClient& client, const net::FetchGuard& guard,
                       McpEndpoint endpoint, const McpLimits& limits, std::function<void()> on_tools_changed)
    : loop_(loop),
      client_(client),
      guard_(guard),
      endpoint_(std::move(endpoint)),
      limits_(limits),
      on_tools_changed_(std::move(on_tools_changed)) {}

base::Result<net::HttpRequest> McpChannel::request(std::string method, McpHeaders headers,
                                                   McpDeadline deadline, const std::string& url) const {
  net::HttpRequest out;
  out.method = std::move(method);
  out.url = url.empty() ? endpoint_.url : url;
  if (endpoint_.guarded) {
    base::Result<net::FetchTarget> target = guard_.check_url(out.url, "mcp_servers");
    if (!target) return target.error();
    out.url = target->url;
    out.address_filter = [guard = &guard_, target = *std::move(target)](const sockaddr& address) {
      return guard->check_address(target, address);
    };
  }
  out.headers = std::move(headers);
  out.headers.emplace_back("Accept",
                           out.method == "GET" ? "text/event-stream" : "application/json, text/event-stream");
  if (out.method == "POST") out.headers.emplace_back("Content-Type", "application/json");
  out.headers.insert(out.headers.end(), endpoint_.headers.begin(), endpoint_.headers.end());
  out.total_timeout = left_until(deadline);
  out.connect_timeout = std::min(limits_.connect_timeout, out.total_timeout);
  out.stall_timeout = std::chrono::seconds(0);
  out.body_bytes_max = limits_.reply_bytes_max;
  return out;
}

net::Task<base::Result<McpReply>> McpChannel::exchange(net::HttpRequest request,
                                                       std::shared_ptr<McpResponseReader> reader,
                                                       net::Cancel& cancel) {
  using Transfer = base::Result<net::HttpReply>;
  net::StartCall<Transfer> begin = [&](std::function<void(Transfer)> done) -> std::function<void()> {
    net::HttpClient::Handlers handlers;
    handlers.on_head = [reader](const net::HttpReply& head) { reader->begin(head); };
    handlers.on_data = [reader](std::string_view bytes) { return reader->take(bytes); };
    handlers.on_done = std::move(done);
    return [&client = client_, transfer = client_.start(std::move(request), std::move(handlers))] {
      client.cancel(transfer);
    };
  };
  net::Task<std::optional<Transfer>> wait = net::cancellable<Transfer>(loop_, std::move(begin), cancel);
  const std::optional<Transfer> transfer = co_await wait;
  if (!transfer) co_return net::cancelled();
  co_return reader->end(*transfer);
}

net::Task<base::Result<McpReply>> McpChannel::post(McpPost post, net::Cancel& cancel) {
  auto reader = std::make_shared<McpResponseReader>(
      post.id, limits_.reply_bytes_max,
      [this, &post](const McpMessage& message) { on_message(message, post); });
  base::Result<net::HttpRequest> next = request("POST", post.headers, post.deadline, post.url);
  if (next) {
    next->body = std::move(post.body);
    next->own_connection = post.not_idempotent;
  }
  for (int resumed = 0;; ++resumed) {
    if (!next) co_return reader->end(next.error());
    net::Task<base::Result<McpReply>> wait = exchange(*std::move(next), reader, cancel);
    base::Result<McpReply> reply = co_await wait;
    if (resumed > 0 && reply && reply->status >= 300)
      co_return mcp_fault("ended its stream before the response");
    const std::string event_id = reader->resume_event_id();
    if (reply || event_id.empty() || !post.in_session || resumed == kResumesMax) co_return reply;
    net::Task<bool> resume_delay = net::pause(loop_, kResumeAfter, cancel);
    const bool has_passed = co_await resume_delay;
    if (!has_passed) co_return net::cancelled();
    McpHeaders headers = post.headers;
    headers.emplace_back("Last-Event-ID", event_id);
    next = request("GET", std::move(headers), post.deadline);
  }
}

void McpChannel::on_message(const McpMessage& message, const McpPost& post) {
  const bool is_request = message.kind == McpMessage::Kind::kRequest;
  if (is_request && post.in_session) send_detached("POST", post.headers, mcp_answer(message));
  if (!is_request && message.method == kMcpToolsChanged) on_tools_changed_();
}

base::Result<std::function<void()>> McpChannel::listen(net::HttpClient::Handlers handlers,
                                                       McpDeadline begin_by) {
  base::Result<net::HttpRequest> out = request("GET", {}, begin_by);
  if (!out) return out.error();
  out->first_byte_timeout = std::exchange(out->total_timeout, milliseconds(0));
  out->body_bytes_max = limits_.stream_bytes_max;
  return std::function<void()>(
      [&client = client_, transfer = client_.start(*std::move(out), std::move(handlers))] {
        client.cancel(transfer);
      });
}

void McpChannel::send_detached(std::string method, McpHeaders headers, std::string body,
                               const std::string& url) {
  base::Result<net::HttpRequest> out =
      request(std::move(method), std::move(headers), std::chrono::steady_clock::now() + kNotifyTimeout, url);
  if (!out) return;
  out->body = std::move(body);
  client_.start(*std::move(out), {});
}

}  // namespace millrace::inference

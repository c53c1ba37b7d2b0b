#include "ai/inference/mcp/response_reader.h"

#include <utility>

#include "ai/providers/wire_text.h"

namespace millrace::inference {
namespace {

using base::Code;

constexpr std::size_t kTypeShownMax = 100;

bool is_success(int status) { return status >= 200 && status < 300; }

// Messages of the guard name the field that most URLs come from.
std::string without_field(std::string text) {
  constexpr std::string_view kField = "document_url";
  const std::size_t at = text.find(kField);
  return at == std::string::npos ? text : text.replace(at, kField.size(), "the URL of the server");
}

}  // namespace

McpResponseReader::McpResponseReader(std::int64_t id, std::size_t bytes_max,
                                     std::function<void(const McpMessage&)> on_server_message)
    : id_(id), bytes_max_(bytes_max), on_server_message_(std::move(on_server_message)) {}

void McpResponseReader::begin(const net::HttpReply& head) {
  begun_ = true;
  interrupted_ = false;
  reply_.status = head.status;
  if (const auto session = head.header("mcp-session-id"); !session.empty()) reply_.session = session;
  type_ = providers::cut_text(head.header("content-type"), kTypeShownMax);
  events_.reset();
  if (id_ == 0) {
    form_ = Body::kNone;
  } else if (type_.starts_with("text/event-stream") && is_success(head.status)) {
    form_ = Body::kEvents;
    events_.emplace([this](const net::SseEvent& event) { on_event(event); }, bytes_max_);
  } else {
    form_ = type_.starts_with("application/json") ? Body::kJson : Body::kForeign;
  }
}

bool McpResponseReader::take(std::string_view bytes) {
  switch (form_) {
    case Body::kNone:
      return true;
    case Body::kForeign:
      return false;
    case Body::kJson:
      body_.append(bytes);
      return true;
    case Body::kEvents:
      break;
  }
  if (!events_->feed(bytes) && !fault_)
    fault_ = mcp_fault("sent an event of more than " + std::to_string(bytes_max_) + " bytes");
  return !answered_ && !fault_;
}

// Events without data only mark a position to resume from.
void McpResponseReader::on_event(const net::SseEvent& event) {
  if (answered_ || fault_ || event.data.empty()) return;
  base::Result<McpMessage> message = read_mcp_message(event.data);
  if (message) return on_message(*std::move(message));
  fault_ = message.error();
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
        fault_ = mcp_fault("sent more than " + std::to_string(kMcpServerRequestsMax) +
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
  if (fault_) return *fault_;
  if (answered_) return std::move(reply_);
  interrupted_ = events_ && (transfer || transfer.error().code == Code::kUpstream);
  if (!transfer) return transport_error(transfer.error());
  if (!begun_) begin(*transfer);
  switch (form_) {
    case Body::kJson:
      return whole();
    case Body::kEvents:
      return mcp_fault("ended its stream before the response");
    case Body::kForeign:
      if (is_success(reply_.status) && !type_.empty())
        return mcp_fault("answered with " + type_ + ", not with JSON");
      break;
    case Body::kNone:
      break;
  }
  return std::move(reply_);
}

base::Result<McpReply> McpResponseReader::whole() {
  base::Result<McpMessage> message = read_mcp_message(std::move(body_));
  if (!message && is_success(reply_.status)) return message.error();
  const bool fits =
      message && (message->kind == McpMessage::Kind::kResult || message->kind == McpMessage::Kind::kError);
  if (fits && answers(*message)) {
    reply_.message = *std::move(message);
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

}  // namespace millrace::inference

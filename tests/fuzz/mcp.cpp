#include <string>

#include "ai/inference/mcp/channel.h"
#include "ai/inference/mcp/messages.h"
#include "ai/inference/mcp/stream.h"
#include "tests/fuzz/fuzz.h"

// Messages of MCP servers. The first line of the input is the Content-Type of a response to request 1, the
// rest is its body.
namespace millrace::inference {
namespace {

using fuzz::require;

constexpr std::size_t kReplyBytesMax = 4096, kResultBytesMax = 256;
constexpr int kSchemaDepthMax = 8;

net::HttpReply head_of(std::string_view content_type) {
  net::HttpReply head;
  head.status = 200;
  head.headers.emplace_back("content-type", content_type);
  return head;
}

void check_answer(const McpMessage& request) {
  const schemas::Json answer = schemas::Json::parse(mcp_answer(request), nullptr, false);
  require(answer.is_object() && answer.value("id", schemas::Json()) == request.id,
          "an answer has the request's id");
}

struct Read {
  base::Result<McpReply> reply;
  std::string resume_event_id;
};

Read read(std::string_view content_type, std::string_view first, std::string_view rest = {}) {
  int requests = 0;
  McpResponseReader reader(1, kReplyBytesMax, [&](const McpMessage& message) {
    require(message.kind == McpMessage::Kind::kRequest || message.kind == McpMessage::Kind::kNotification,
            "a server sends requests and notifications");
    if (message.kind == McpMessage::Kind::kRequest) {
      require(++requests <= kMcpServerRequestsMax, "requests within their bound");
      check_answer(message);
    }
  });
  const net::HttpReply head = head_of(content_type);
  reader.begin(head);
  if (reader.take(first)) reader.take(rest);
  auto reply = reader.end(head);
  return {std::move(reply), reader.resume_event_id()};
}

void check_same(const Read& whole, const Read& pieces) {
  require(whole.reply.has_value() == pieces.reply.has_value(), "a response is the same in pieces");
  require(whole.resume_event_id == pieces.resume_event_id, "a response resumes at the same event in pieces");
  if (!whole.reply) {
    require(
        whole.reply.error().message == pieces.reply.error().message && !whole.reply.error().message.empty(),
        "an error is the same in pieces");
    return;
  }
  const McpMessage &one = whole.reply->message, &other = pieces.reply->message;
  require(
      one.kind == other.kind && one.id == other.id && one.result == other.result && one.code == other.code,
      "a message is the same in pieces");
}

void check_result(const schemas::Json& result) {
  require(result.is_object(), "a result is an object");
  // Space for the notice.
  const auto outcome = read_mcp_outcome(result, kResultBytesMax);
  if (outcome) require(outcome->text.size() <= kResultBytesMax + 100, "a result's text within its bound");
  const auto page = read_mcp_tools(result, kSchemaDepthMax);
  if (!page) return;
  for (const McpListedTool& listed : page->tools) {
    require(!listed.tool.name.empty() && listed.tool.name.size() <= kMcpToolNameMax, "a tool has a name");
    require(schemas::Json::parse(listed.tool.input_schema, nullptr, false).is_object(),
            "a tool's schema is an object");
    for (const auto& [name, value] : mcp_param_headers(listed.params, result))
      require((name + value).find_first_of("\r\n") == std::string::npos, "no line ends in headers");
  }
}

void check_response(std::string_view input) {
  const std::string_view content_type = fuzz::take_line(input);
  const auto [first, rest] = fuzz::two_pieces(input);
  const Read whole = read(content_type, input);
  check_same(whole, read(content_type, first, rest));
  if (whole.reply && whole.reply->message.kind == McpMessage::Kind::kResult)
    check_result(whole.reply->message.result);
}

// The event `endpoint` must not lead to another server.
void check_message_url(std::string_view path) {
  const std::string origin = "https://tools.example:8443";
  const auto url = mcp_message_url(origin + "/sse?x", path);
  if (url)
    require(url->starts_with(origin + "/") || *url == origin || url->starts_with(origin + "?"), "one origin");
}

}  // namespace
}  // namespace millrace::inference

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = millrace::fuzz::text_of(data, size);
  millrace::inference::check_response(input);
  millrace::inference::check_message_url(input);
  return 0;
}

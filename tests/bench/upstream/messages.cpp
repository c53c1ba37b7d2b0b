#include "tests/bench/upstream/messages.h"

#include <charconv>

#include <strings.h>

namespace millrace::bench {
namespace {

constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    "Transfer-Encoding: chunked\r\n\r\n";
constexpr std::string_view kChunk =
    R"({"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"bench",)"
    R"("system_fingerprint":"fp_bench","choices":[)";
constexpr std::string_view kUsage = R"({"prompt_tokens":200,"completion_tokens":150,"total_tokens":350,)"
                                    R"("prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},)"
                                    R"("completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}})";

std::size_t content_length(std::string_view head) {
  constexpr std::string_view kName = "content-length:";
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    std::string_view line = head.substr(at + 2);
    if (line.size() <= kName.size() || ::strncasecmp(line.data(), kName.data(), kName.size()) != 0) continue;
    line.remove_prefix(kName.size());
    while (line.starts_with(' ')) line.remove_prefix(1);
    std::size_t length = 0;
    std::from_chars(line.data(), line.data() + line.size(), length);
    return length;
  }
  return 0;
}

std::string http_chunk(std::string_view bytes) {
  char digits[16];
  const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, bytes.size(), 16);
  std::string chunk(digits, failed == std::errc{} ? end : digits);
  return chunk.append("\r\n").append(bytes).append("\r\n");
}

std::string event(std::string_view choices_and_rest) {
  std::string text = "data: ";
  return text.append(kChunk).append(choices_and_rest).append("}\n\n");
}

std::string delta(const Frame& frame) {
  std::string choice = R"({"index":0,"delta":{)";
  if (frame.number == 0) choice += R"("role":"assistant",)";
  choice.append(R"("content":")").append(frame_text(frame));
  return event(choice.append(R"("},"logprobs":null,"finish_reason":null}],"usage":null)"));
}

}  // namespace

std::optional<RequestInfo> read_request(std::string_view bytes) {
  const std::size_t blank = bytes.find("\r\n\r\n");
  if (blank == std::string_view::npos) return std::nullopt;
  const RequestInfo request{.size = blank + 4 + content_length(bytes.substr(0, blank))};
  if (bytes.size() < request.size) return std::nullopt;
  const std::string_view body = bytes.substr(blank + 4, request.size - blank - 4);
  return RequestInfo{request.size, body.find(R"("stream":true)") != std::string_view::npos};
}

std::string whole_reply() {
  std::string content;
  while (content.size() < 600) content += "All happy families are alike; ";
  std::string body =
      R"({"id":"chatcmpl-bench","object":"chat.completion","created":1700000000,"model":"bench",)";
  body.append(R"("choices":[{"index":0,"message":{"role":"assistant","content":")").append(content);
  body.append(R"(","refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"stop"}],"usage":)");
  body.append(kUsage).append(R"(,"service_tier":"default","system_fingerprint":"fp_bench"})");
  std::string reply = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ";
  return reply.append(std::to_string(body.size())).append("\r\n\r\n").append(body);
}

std::string stream_begin(const Frame& frame) {
  return std::string(kStreamHead).append(http_chunk(delta(frame)));
}

std::string stream_frame(const Frame& frame) { return http_chunk(delta(frame)); }

std::string stream_end() {
  std::string events =
      event(R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null)");
  events += event(std::string(R"(],"usage":)").append(kUsage));
  return http_chunk(events.append("data: [DONE]\n\n")) + "0\r\n\r\n";
}

}  // namespace millrace::bench

#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/provider.h"
#include "platform/net/sse_reader.h"
#include "schemas/chat/chat_request.h"
#include "schemas/field.h"

namespace millrace::providers::testing {

inline Target target_of(std::string_view provider, std::string model, std::string base_url = {}) {
  Target target;
  target.name = std::string(provider).append("/").append(model);
  target.preset = preset_named(provider);
  target.model = std::move(model);
  target.base_url = base_url.empty() ? std::string(target.preset->base_url) : std::move(base_url);
  target.key = base::Secret("sk-test-0123456789abcdef");
  return target;
}

inline schemas::ChatRequest request_of(schemas::Json body) {
  schemas::ChatRequest request;
  request.models = {"m"};
  if (!body.contains("messages")) body["messages"] = {{{"role", "user"}, {"content", "hello"}}};
  request.body = std::move(body);
  return request;
}

// The parameters of chat requests that providers may receive: the rows of the parameter table.
inline std::vector<std::string> parameters() {
  std::vector<std::string> names;
  for (const schemas::Field& field : schemas::chat_request_fields()) {
    if (support(Dialect::kOpenai, field.name)) names.emplace_back(field.name);
  }
  return names;
}

// The member of a message, or of a delta, with one call.
inline constexpr std::string_view kCallMember =
    R"("tool_calls":[{"index":0,"id":"abcdefghi","type":"function","function":{"name":"f","arguments":"{}"},)"
    R"("extra_content":{"google":{"thought_signature":"sig"}}}])";

// The choice of a whole reply whose message has these members and that call.
inline schemas::ChatChoice whole_choice(const Target& target, std::string_view members) {
  const std::string body = R"({"choices":[{"message":{)" + std::string(members) + "," +
                           std::string(kCallMember) + R"(},"finish_reason":"tool_calls"}]})";
  return translation(Family::kOpenai).chat_reply(target, body).value().choices.at(0);
}

struct Streamed {
  std::vector<schemas::ChatPiece> pieces;
  base::Status status;
  bool complete = false;
  schemas::ChatMetadata facts;
};

// Parses the bytes of a stream that are split at `cut`.
inline Streamed read_stream(const Target& target, std::string_view bytes, std::size_t cut) {
  Streamed out;
  const auto reader = translation(target.preset->family).stream_reader(target);
  net::SseReader events([&](const net::SseEvent& event) {
    if (out.status) out.status = reader->read(event, out.pieces);
  });
  events.feed(bytes.substr(0, cut));
  events.feed(bytes.substr(cut));
  out.complete = reader->complete(1);
  if (out.status && out.complete) reader->end(out.pieces);
  out.facts = reader->facts();
  return out;
}
inline Streamed read_stream(const Target& target, std::string_view bytes) {
  return read_stream(target, bytes, bytes.size());
}

inline std::string events_of(const std::vector<std::string>& data) {
  std::string out;
  for (const std::string& one : data) out.append("data: ").append(one).append("\n\n");
  return out;
}

}  // namespace millrace::providers::testing

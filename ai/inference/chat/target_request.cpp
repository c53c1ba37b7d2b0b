#include "ai/inference/chat/target_request.h"

#include <algorithm>
#include <exception>

#include "platform/base/log.h"

namespace millrace::inference {
namespace {

using How = schemas::DroppedParam::How;

bool is_reported(const providers::WireRequest& wire, const schemas::DroppedParam& param) {
  return std::ranges::find(wire.dropped, param) != wire.dropped.end();
}

template <class Answer>  // a choice or a piece
std::size_t bytes_to_check(const Answer& answer) {
  std::size_t bytes = answer.content ? answer.content->size() : 0;
  for (const auto& call : answer.tool_calls) bytes += call.arguments.size();
  return bytes;
}

}  // namespace

base::Result<providers::WireRequest> translated(const providers::Target& target,
                                                const schemas::ChatRequest& request, bool stream) {
  try {
    return providers::translation(target.preset->family).chat_request(target, request, stream);
  } catch (const std::exception& broken) {
    base::log_error("translation_failed", {{"model", target.name}, {"error", broken.what()}});
    return base::error(
        base::Code::kInternal,
        "The request could not be translated: look for `translation_failed` in the server's log");
  }
}

ReplySchema::Parts checked_parts(const ReplySchema& schema, const providers::WireRequest& wire) {
  const bool is_sent = !is_reported(wire, {"response_format", How::kDropped});
  const bool is_loosened = is_reported(wire, {"response_format", How::kClamped});
  return schema.available(
      {.format = is_sent && (schema.is_strict() || is_loosened), .calls = wire.loosened_tools});
}

std::size_t checked_bytes(const schemas::ChatReply& reply) {
  std::size_t bytes = 0;
  for (const schemas::ChatChoice& each : reply.choices) bytes += bytes_to_check(each);
  return bytes;
}

std::size_t checked_bytes(const schemas::ChatPiece& piece) { return bytes_to_check(piece); }

}  // namespace millrace::inference

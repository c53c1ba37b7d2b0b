#include "ai/inference/turn_filter.h"

#include <utility>

namespace millrace::inference {

using schemas::ChatPiece;
using schemas::ToolCallPiece;

void TurnFilter::begin(bool all_calls) {
  all_calls_ = all_calls;
  calls_.clear();
  next_index_ = 0;
  turn_.take();
}

std::optional<ChatPiece> TurnFilter::pass(ChatPiece&& piece) {
  turn_.add(piece);
  piece.finish_reason.clear();
  std::vector<ToolCallPiece> calls;
  for (ToolCallPiece& call : std::exchange(piece.tool_calls, {})) pass_call(std::move(call), calls);
  piece.tool_calls = std::move(calls);
  const bool says_something = piece.content || piece.refusal || !piece.reasoning.empty() ||
                              !piece.tool_calls.empty() || !piece.logprobs.is_null() ||
                              !piece.extra.is_null();
  if (!says_something) return std::nullopt;
  return std::move(piece);
}

void TurnFilter::pass_call(ToolCallPiece&& piece, std::vector<ToolCallPiece>& out) {
  Call& call = calls_[piece.index];
  call.name += piece.name;
  if (!call.decided && call.name.empty()) return call.held.push_back(std::move(piece));
  if (!std::exchange(call.decided, true)) {
    call.ours = !all_calls_ && is_ours_(call.name);
    if (!call.ours) call.index = next_index_++;
  }
  if (call.ours) return;
  call.held.push_back(std::move(piece));
  for (ToolCallPiece& held : std::exchange(call.held, {})) {
    held.index = call.index;
    out.push_back(std::move(held));
  }
}

}  // namespace millrace::inference

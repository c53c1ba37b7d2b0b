#include "ai/inference/turn_filter.h"

#include <array>
#include <utility>

#include "schemas/json_text.h"

namespace millrace::inference {

using schemas::ChatPiece;
using schemas::ToolCallPiece;

void TurnFilter::begin(bool all_calls) {
  all_calls_ = all_calls;
  calls_.clear();
  next_index_ = 0;
  said_before_ = said_;
  turn_.take();
}

std::optional<ChatPiece> TurnFilter::pass(ChatPiece&& piece) {
  turn_.add(piece);
  if (piece.content) said_ += schemas::characters(*piece.content);
  if (said_before_ > 0 && piece.extra.is_object()) count_from_first_turn(piece);
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

void TurnFilter::count_from_first_turn(ChatPiece& piece) const {
  constexpr std::array<const char*, 2> kPlaces{"start_index", "end_index"};
  const auto annotations = piece.extra.find("annotations");
  if (annotations == piece.extra.end() || !annotations->is_array()) return;
  for (nlohmann::json& each : *annotations) {
    if (!each.is_object() || !each.contains("url_citation") || !each["url_citation"].is_object()) continue;
    nlohmann::json& cited = each["url_citation"];
    for (const char* const place : kPlaces) {
      const auto at = cited.find(place);
      if (at == cited.end() || !at->is_number_integer() || *at < 0) continue;
      *at = at->get<std::size_t>() + said_before_;
    }
  }
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

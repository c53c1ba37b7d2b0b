#include "ai/inference/chat/paused_turn.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "ai/providers/citations.h"
#include "ai/providers/provider.h"
#include "schemas/json/json_text.h"

namespace millrace::inference {

using schemas::ChatChoice;
using schemas::ChatPiece;
using schemas::ChatReply;

void PausedTurn::begin_call() {
  paused_.clear();
  text_.clear();
  characters_ = characters_before_;
  calls_ = calls_before_;
}

void PausedTurn::count(const std::string& text) {
  text_ += text;
  characters_ += schemas::characters(text);
}

bool PausedTurn::take(ChatPiece& piece) {
  providers::move_citations(piece.extra, characters_before_);
  if (piece.content) count(*piece.content);
  for (schemas::ToolCallPiece& call : piece.tool_calls) {
    call.index += calls_before_;
    calls_ = std::max(calls_, call.index + 1);
  }
  if (piece.finish_reason == providers::kPausedTurn) {
    paused_ = std::exchange(piece.reasoning_state, {});
    piece.finish_reason.clear();
  } else if (!piece.finish_reason.empty() && is_continued()) {
    piece.reasoning_state = providers::joined_turn(earlier_, piece.reasoning_state, text_);
  }
  return !is_empty(piece);
}

ChatPiece PausedTurn::take(ChatReply& reply) {
  ChatPiece part;
  if (reply.choices.empty()) return part;
  ChatChoice& choice = reply.choices.front();
  providers::move_citations(choice.extra, characters_before_);
  count(choice.content.value_or(""));
  part.content = choice.content;
  part.refusal = choice.refusal;
  for (const schemas::ToolCall& call : choice.tool_calls)
    part.tool_calls.push_back({calls_++, call.id, call.type, call.name, call.arguments});
  if (choice.finish_reason == providers::kPausedTurn) {
    paused_ = std::exchange(choice.reasoning_state, {});
    choice.finish_reason = "length";
    return part;
  }
  part.finish_reason = choice.finish_reason;
  if (is_continued())
    choice.reasoning_state = providers::joined_turn(earlier_, choice.reasoning_state, text_);
  return part;
}

ChatChoice PausedTurn::next_part() {
  ChatChoice part;
  part.reasoning_state = std::exchange(paused_, {});
  earlier_ =
      earlier_.empty() ? part.reasoning_state : providers::joined_turn(earlier_, part.reasoning_state, text_);
  characters_before_ = characters_;
  calls_before_ = calls_;
  return part;
}

namespace {

template <class Answer>  // a choice or a piece
void end_pause(Answer& answer) {
  if (answer.finish_reason != providers::kPausedTurn) return;
  answer.finish_reason = "length";
  answer.reasoning_state.clear();
}

}  // namespace

void end_paused(ChatPiece& piece) { end_pause(piece); }

void end_paused(ChatReply& reply) {
  for (ChatChoice& choice : reply.choices) end_pause(choice);
}

void add_part(ChatReply& reply, ChatReply part) {
  schemas::add(*reply.usage, *part.usage);
  if (reply.choices.empty() || part.choices.empty()) return;
  ChatChoice& choice = reply.choices.front();
  ChatChoice& more = part.choices.front();
  if (more.content) choice.content = choice.content.value_or("") + *more.content;
  if (more.refusal) choice.refusal = choice.refusal.value_or("") + *more.refusal;
  choice.reasoning += more.reasoning;
  std::move(more.tool_calls.begin(), more.tool_calls.end(), std::back_inserter(choice.tool_calls));
  schemas::merge_members(choice.extra, more.extra);
  choice.finish_reason = std::move(more.finish_reason);
  choice.reasoning_state = std::move(more.reasoning_state);
}

}  // namespace millrace::inference

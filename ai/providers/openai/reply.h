#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/call_ids.h"
#include "ai/providers/json_access.h"
#include "ai/providers/openai/call_pieces.h"
#include "ai/providers/openai/reasoning_state.h"
#include "ai/providers/provider.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::providers {

inline constexpr std::size_t kToolCallsMax = 1'024;  // of one choice

// kUpstream: a choice has more than kToolCallsMax calls.
base::Error too_many_calls(const Target& target);

// Reads the message of one choice, or its deltas one after the other, into pieces. Numbers the tool calls.
class MessageReader {
 public:
  enum class Form : std::uint8_t { kDeltas, kWhole };
  explicit MessageReader(Form form = Form::kDeltas) : is_whole_(form == Form::kWhole) {}

  // Consumes `message`. False: more than kToolCallsMax calls; nothing more is read.
  bool read(Json& message, schemas::ChatPiece& piece);
  // The last step of `read`, also for a piece that was parsed elsewhere: drops an empty content, except in
  // the first piece of a choice.
  void note_piece(schemas::ChatPiece& piece);
  // Keeps reasoning_content that was parsed elsewhere.
  void keep_reasoning(std::string_view text) { state_.add_text("reasoning_content", text); }
  bool has_calls() const { return !calls_.empty(); }
  // Adds the calls that are still held, at the end of the choice.
  void release_calls(schemas::ChatPiece& piece);
  // Adds `{}` for the functions that were called without arguments. For a choice that is whole.
  void complete_calls(schemas::ChatPiece& piece) const;
  // For ChatPiece::reasoning_state, at the end of the choice.
  std::string take_state(const Target& target) { return state_.take(target); }

 private:
  void read_content(Json& content, schemas::ChatPiece& piece);
  bool read_calls(Json& message, schemas::ChatPiece& piece);
  bool read_call(Json& call, schemas::ChatPiece& piece);
  std::size_t call_of(const Json& call, const std::string& id, std::string_view name,
                      std::string_view arguments);

  bool is_whole_;
  std::vector<OpenaiCall> calls_;
  std::vector<std::string> shown_ids_;  // of the calls, that the client gets
  CallIds ids_;
  OpenaiReasoningState state_;
  bool begun_ = false;
};

// Shared by whole replies and streams of the family. JSON arguments are consumed.

// The members that are read from a choice, whole or in chunks.
inline constexpr std::array<std::string_view, 6> kChoiceMembers{"index",         "message",  "delta",
                                                                "finish_reason", "logprobs", "usage"};

base::Result<schemas::ChatReply> openai_reply(const Target& target, std::string_view body);
// Translation::reply_usage; also of a chunk. Moonshot's is in the choice.
std::optional<schemas::ChatUsage> openai_reply_usage(const Json& reply);
std::string openai_error_message(std::string_view body);

// Converts an upstream's finish reason to OpenAI's; empty: the upstream reported a failure.
std::string openai_finish_reason(std::string_view word, bool has_calls);
// The error of an empty openai_finish_reason. The content may have caused it, such as a grammar that the
// server cannot follow.
base::Error openai_failure(const Target& target, std::string_view finish_reason);

// xAI counts reasoning in the total, but not in completion_tokens: includes it there.
void include_reasoning(schemas::ChatUsage& usage);
// nullopt: `usage` is not an object.
std::optional<schemas::ChatUsage> openai_usage(const Json& usage);

// Reads the members of a reply or chunk other than its choices: id, model, usage and so on. Unknown members
// go to `extra`.
void read_facts(Json& chunk, schemas::ChatMetadata& facts);

// The error, if `value` is an error instead of a reply or an event.
std::optional<base::Error> reported_instead(const Target& target, const Json& value);

// Moves the members of `object` to `extra`, except nulls, empty values and `known` members.
void keep_unknown(Json& object, std::span<const std::string_view> known, Json& extra);

}  // namespace millrace::providers

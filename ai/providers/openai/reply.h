#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "ai/providers/provider.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::providers {

inline constexpr std::size_t kToolCallsMax = 1'024;  // of a choice

// kUpstream: a choice of more.
base::Error too_many_calls(const Target& target);

// Reads one choice's message, or its deltas one after the other, into pieces; keeps count of the tool calls.
class MessageReader {
 public:
  // `message` is used up. False: more than kToolCallsMax calls; nothing more is read.
  bool read(nlohmann::json& message, schemas::ChatPiece& piece);
  // The end of `read`, for a piece that was read otherwise: "" is news in a choice's first piece only.
  void note_piece(schemas::ChatPiece& piece);
  bool has_calls() const { return !calls_.empty(); }

 private:
  struct Call {
    std::int64_t upstream_index = -1;  // -1: it said none
    std::string id = {};               // as the upstream said it; may be empty
    bool named = false;
  };

  void read_content(nlohmann::json& content, schemas::ChatPiece& piece);
  bool read_calls(nlohmann::json& message, schemas::ChatPiece& piece);
  bool read_call(nlohmann::json& call, schemas::ChatPiece& piece);
  std::size_t call_of(const nlohmann::json& call, const std::string& id, bool has_name);

  std::vector<Call> calls_;
  bool begun_ = false;
};

// What whole replies and streams of the family have in common. JSON arguments are used up.

// What is read of a choice, whole or in chunks.
inline constexpr std::array<std::string_view, 5> kChoiceMembers{"index", "message", "delta", "finish_reason",
                                                                "logprobs"};

base::Result<schemas::ChatReply> openai_reply(const Target& target, std::string_view body);
std::string openai_error_message(std::string_view body);

// OpenAI's word for what an upstream calls the end; empty: it says that it failed.
std::string openai_finish_reason(std::string_view word, bool has_calls);

// nullopt: `usage` is no object.
std::optional<schemas::ChatUsage> openai_usage(const nlohmann::json& usage);

// Members of a reply or of a chunk beside its choices: id, model, usage and so on, what is unknown to
// `extra`.
void read_facts(nlohmann::json& chunk, schemas::ChatFacts& facts);

// The error that `value` is instead of a reply or an event, if it is one.
std::optional<base::Error> reported_instead(const Target& target, const nlohmann::json& value);

// The rest of `object` without nulls, empty values and the `known` ones is added to `extra`.
void keep_unknown(nlohmann::json& object, std::span<const std::string_view> known, nlohmann::json& extra);

}  // namespace millrace::providers

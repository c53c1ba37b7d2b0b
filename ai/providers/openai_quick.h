#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/chat_reply.h"

namespace millrace::providers {

// Counts of tokens above it are no counts; the same where a reply is read as a tree.
inline constexpr std::int64_t kTokenCountMax = std::int64_t{1} << 53;

// A reply or a chunk as nearly all are: one choice at most, with text and an end, and nothing that would have
// to be kept as it is.
struct QuickReply {
  bool has_choice = false;
  std::int64_t index = -1;        // -1: not said
  schemas::ChatPiece piece;       // content, refusal and reasoning
  std::string finish_word;        // as the upstream says it
  schemas::ChatFacts facts = {};  // of this reply alone
};

// Reads it without making a tree of it (ADR 17). nullopt: it holds more than that, or is no JSON; who reads
// it as a tree finds out which.
std::optional<QuickReply> quick_reply(std::string_view json);

}  // namespace millrace::providers

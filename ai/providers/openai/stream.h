#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "ai/providers/openai/reply.h"
#include "ai/providers/provider.h"
#include "schemas/chat/chat_reply.h"

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

// chat.completion.chunk events of whichever upstream. `target` outlives it.
class OpenaiStream final : public StreamReader {
 public:
  explicit OpenaiStream(const Target& target) : target_(target) {}

  base::Status read(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out) override;
  bool complete(int choices) const override;
  bool has_end_word() const override { return done_; }
  const schemas::ChatFacts& facts() const override { return facts_; }

 private:
  struct Choice {
    MessageReader reader;
    bool begun = false, finished = false;
  };

  base::Status take(QuickReply&& quick, std::vector<schemas::ChatPiece>& out);
  base::Status read_tree(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out);
  base::Status end_choice(Choice& choice, const std::string& word, schemas::ChatPiece& piece);
  base::Status read_choice(nlohmann::json& node, std::vector<schemas::ChatPiece>& out);
  base::Status end(std::vector<schemas::ChatPiece>& out);

  const Target& target_;
  schemas::ChatFacts facts_;
  std::map<int, Choice> choices_;
  bool done_ = false;
};

}  // namespace millrace::providers

#pragma once
#include <map>

#include <nlohmann/json.hpp>

#include "ai/providers/openai_message.h"
#include "ai/providers/openai_quick.h"
#include "ai/providers/provider.h"

namespace millrace::providers {

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

  base::Status take(QuickReply&& said, std::vector<schemas::ChatPiece>& out);
  base::Status read_tree(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out);
  base::Status end_choice(Choice& choice, const std::string& word, schemas::ChatPiece& piece);
  base::Status read_choice(nlohmann::json& said, std::vector<schemas::ChatPiece>& out);
  base::Status end(std::vector<schemas::ChatPiece>& out);

  const Target& target_;
  schemas::ChatFacts facts_;
  std::map<int, Choice> choices_;
  bool done_ = false;
};

}  // namespace millrace::providers

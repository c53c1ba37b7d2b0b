#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ai/providers/json_access.h"
#include "ai/providers/openai/reply.h"
#include "ai/providers/provider.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::providers {

// Token counts above it are invalid; the same applies when a reply is parsed into a tree.
inline constexpr std::int64_t kTokenCountMax = std::int64_t{1} << 53;

// A common reply or chunk: at most one choice, with text and a finish reason, and no unknown members to pass
// on.
struct QuickReply {
  bool has_choice = false;
  std::int64_t index = -1;             // -1: not given
  schemas::ChatPiece piece;            // content, refusal and reasoning
  std::string upstream_finish_reason;  // finish reason as the upstream reports it
  schemas::ChatMetadata facts = {};    // of this reply only
};

// Parses a QuickReply without building a JSON tree (ADR 17). nullopt: the text has other members or is not
// JSON; parsing it into a tree shows which.
std::optional<QuickReply> quick_reply(std::string_view json);

// Reads chat.completion.chunk events of any upstream. `target` outlives it.
class OpenaiStream final : public StreamReader {
 public:
  explicit OpenaiStream(const Target& target) : target_(target) {}

  base::Status read(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out) override;
  bool complete(int choices) const override;
  bool is_continued() const override { return continued_; }
  bool has_end_marker() const override { return done_; }
  void end(std::vector<schemas::ChatPiece>& out) override;
  const schemas::ChatMetadata& facts() const override { return facts_; }

 private:
  struct Choice {
    MessageReader reader;
    std::string reason = {};  // the upstream's finish reason
    bool begun = false, finished = false;
  };

  base::Status take(QuickReply&& quick, std::vector<schemas::ChatPiece>& out);
  base::Status read_tree(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out);
  base::Status keep_reason(Choice& choice, const std::string& word) const;
  void add(Choice& choice, schemas::ChatPiece&& piece, std::vector<schemas::ChatPiece>& out);
  base::Status read_choice(Json& node, std::vector<schemas::ChatPiece>& out);

  const Target& target_;
  schemas::ChatMetadata facts_;
  std::map<int, Choice> choices_;
  bool done_ = false, ended_ = false;
  bool continued_ = false;  // content has followed a finish reason
};

// True for the data of the event that ends a stream.
bool is_end_marker(std::string_view data);

// Translation::stream_reader.
std::unique_ptr<StreamReader> openai_stream(const Target& target);

}  // namespace millrace::providers

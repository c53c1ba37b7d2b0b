#include "ai/providers/anthropic_stream.h"

#include <map>
#include <utility>

#include "ai/providers/anthropic_citations.h"
#include "ai/providers/anthropic_continuity.h"
#include "ai/providers/anthropic_reply.h"
#include "ai/providers/wire_words.h"
#include "schemas/json_body.h"

namespace millrace::providers {
namespace {

class AnthropicStream final : public StreamReader {
 public:
  explicit AnthropicStream(const Target& target) : target_(target) {}

  base::Status read(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out) override {
    const std::optional<Json> said = parse_wire(event.data);
    if (!said || !said->is_object()) return not_a_reply(target_);
    const std::string_view type = text_of(*said, "type");
    if (const Json* error = member(*said, "error")) return anthropic_error(target_, *error);
    if (type.empty()) return not_a_reply(target_);
    if (type == "message_start") {
      begin(*said);
    } else if (type == "content_block_start") {
      open(*said, out);
    } else if (type == "content_block_delta") {
      add(*said, out);
    } else if (type == "content_block_stop") {
      close(*said, out);
    } else if (type == "message_delta") {
      finish(*said, out);
    } else if (type == "message_stop") {
      complete_ = stopped_ = true;
    }
    return {};  // pings, and what a later version says besides
  }

  bool complete(int) const override { return complete_; }
  bool has_end_word() const override { return stopped_; }
  const schemas::ChatFacts& facts() const override { return facts_; }

 private:
  struct Block {
    std::string type, id, thinking, signature;
    std::string input;  // of a call whose arguments come whole, at its start
    int call = 0;
    bool has_arguments = false;
  };

  void begin(const Json& event) {
    const Json* message = member(event, "message");
    if (message == nullptr) return;
    facts_.id = text_of(*message, "id");
    facts_.model = text_of(*message, "model");
    count(member(*message, "usage"));
  }

  void count(const Json* usage) {
    usage_.take(usage);
    facts_.usage = usage_.usage();
    facts_.service_tier = usage_.service_tier();
  }

  void open(const Json& event, std::vector<schemas::ChatPiece>& out) {
    const Json* given = member(event, "content_block");
    if (given == nullptr) return;
    Block& block = blocks_[integer_of(event, "index").value_or(0)];
    block = {};
    block.type = text_of(*given, "type");
    if (block.type == "text") {
      continuity_.text();
      citations_.begin_block(*given);
      if (const std::string_view text = text_of(*given, "text"); !text.empty()) say(text, out);
    } else if (block.type == "thinking") {
      think(block, text_of(*given, "thinking"), out);
      block.signature = text_of(*given, "signature");
    } else if (block.type == "redacted_thinking") {
      continuity_.redacted(text_of(*given, "data"));
    } else if (block.type == "tool_use") {
      open_call(*given, block, out);
    }
  }

  void open_call(const Json& given, Block& block, std::vector<schemas::ChatPiece>& out) {
    block.id = text_of(given, "id");
    block.call = calls_++;
    const Json* input = member(given, "input");
    block.input = input != nullptr && input->is_object() ? schemas::dump(*input) : "{}";
    continuity_.call(block.id);
    out.emplace_back().tool_calls.push_back({.index = block.call,
                                             .id = block.id,
                                             .type = "function",
                                             .name = std::string(text_of(given, "name")),
                                             .arguments = {}});
  }

  void add(const Json& event, std::vector<schemas::ChatPiece>& out) {
    const auto found = blocks_.find(integer_of(event, "index").value_or(0));
    const Json* delta = member(event, "delta");
    if (found == blocks_.end() || delta == nullptr) return;
    Block& block = found->second;
    const std::string_view type = text_of(*delta, "type");
    if (type == "text_delta" && block.type == "text") {
      say(text_of(*delta, "text"), out);
    } else if (type == "citations_delta" && block.type == "text") {
      if (const Json* citation = member(*delta, "citation")) citations_.cite(*citation);
    } else if (type == "thinking_delta" && block.type == "thinking") {
      think(block, text_of(*delta, "thinking"), out);
    } else if (type == "signature_delta") {
      block.signature += text_of(*delta, "signature");
    } else if (type == "input_json_delta" && block.type == "tool_use") {
      add_arguments(block, text_of(*delta, "partial_json"), out);
    }
  }

  void say(std::string_view text, std::vector<schemas::ChatPiece>& out) {
    citations_.say(text);
    out.emplace_back().content = text;
  }

  void tell_citations(std::vector<schemas::ChatPiece>& out) {
    schemas::ChatPiece piece;
    citations_.end_block();
    citations_.tell(piece.extra);
    if (!piece.extra.is_null()) out.push_back(std::move(piece));
  }

  static void think(Block& block, std::string_view text, std::vector<schemas::ChatPiece>& out) {
    if (text.empty()) return;
    block.thinking += text;
    out.emplace_back().reasoning = text;
  }

  static void add_arguments(Block& block, std::string_view json, std::vector<schemas::ChatPiece>& out) {
    if (json.empty()) return;
    block.has_arguments = true;
    schemas::ToolCallPiece piece;
    piece.index = block.call;
    piece.arguments = json;
    out.emplace_back().tool_calls.push_back(std::move(piece));
  }

  void close(const Json& event, std::vector<schemas::ChatPiece>& out) {
    const auto found = blocks_.find(integer_of(event, "index").value_or(0));
    if (found == blocks_.end()) return;
    Block& block = found->second;
    if (block.type == "text") tell_citations(out);
    if (block.type == "thinking") continuity_.thinking(block.thinking, block.signature);
    if (block.type == "tool_use" && !block.has_arguments) add_arguments(block, block.input, out);
    blocks_.erase(found);
  }

  void finish(const Json& event, std::vector<schemas::ChatPiece>& out) {
    count(member(event, "usage"));
    const Json* delta = member(event, "delta");
    const std::string_view reason = delta != nullptr ? text_of(*delta, "stop_reason") : std::string_view();
    if (reason.empty()) return;
    complete_ = true;  // message_stop says nothing more, and may be cut short
    schemas::ChatPiece& piece = out.emplace_back();
    piece.finish_reason = anthropic_finish_reason(reason);
    piece.continuity = continuity_.take();
    if (const std::string_view why = anthropic_refusal(*delta); !why.empty()) piece.refusal = why;
  }

  const Target& target_;
  std::map<std::int64_t, Block> blocks_;  // those that are open
  AnthropicContinuity continuity_;
  AnthropicCitations citations_;
  AnthropicUsage usage_;
  schemas::ChatFacts facts_;
  int calls_ = 0;
  bool complete_ = false, stopped_ = false;
};

}  // namespace

std::unique_ptr<StreamReader> anthropic_stream(const Target& target) {
  return std::make_unique<AnthropicStream>(target);
}

}  // namespace millrace::providers

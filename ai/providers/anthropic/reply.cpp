#include "ai/providers/anthropic/reply.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "ai/providers/upstream_error.h"
#include "ai/providers/wire_text.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"

namespace millrace::providers {

void AnthropicCitations::begin_block(const Json& block) {
  begin_ = position_;
  pending_.clear();
  const Json* citations = member(block, "citations");
  if (citations == nullptr || !citations->is_array()) return;
  for (const Json& each : *citations) cite(each);
}

void AnthropicCitations::advance(std::string_view text) { position_ += schemas::characters(text); }

// Search results have `url`, sources from tools have `source`; locations in a document have no URL.
void AnthropicCitations::cite(const Json& citation) {
  std::string_view url = text_of(citation, "url");
  if (url.empty()) url = text_of(citation, "source");
  if (!is_citable(url) || pending_.size() >= kCitationsMax) return;
  pending_.emplace_back(url, cut_text(text_of(citation, "title"), kCitedTitleMax));
}

void AnthropicCitations::end_block() {
  for (const auto& [url, title] : pending_) list_.add(begin_, position_, url, title);
  pending_.clear();
}

void AnthropicReasoningState::thinking(std::string_view text, std::string_view signature) {
  if (signature.empty()) return;
  blocks_.push_back({{"type", "thinking"}, {"thinking", text}, {"signature", signature}});
  thinks_ = true;
}

void AnthropicReasoningState::redacted(std::string_view data) {
  blocks_.push_back({{"type", "redacted_thinking"}, {"data", data}});
  thinks_ = true;
}

void AnthropicReasoningState::server_tool(Json block) {
  blocks_.push_back(std::move(block));
  has_server_tools_ = true;
}

void AnthropicReasoningState::text() {
  if (blocks_.empty() || blocks_.back()["type"] != "text") blocks_.push_back({{"type", "text"}});
}

void AnthropicReasoningState::call(std::string_view id) {
  blocks_.push_back({{"type", "tool_use"}, {"id", id}});
  has_calls_ = true;
}

std::string AnthropicReasoningState::take() {
  if (!thinks_ && !(has_server_tools_ && has_calls_)) return {};
  thinks_ = has_server_tools_ = false;
  return paused(std::exchange(blocks_, Json::array()));
}

std::string AnthropicReasoningState::paused(Json blocks) {
  return schemas::dump({{"provider", "anthropic"}, {"blocks", std::move(blocks)}});
}

Json AnthropicReasoningState::blocks(std::string_view reasoning_state) {
  const std::optional<Json> kept = reasoning_state.empty() ? std::nullopt : parse_wire(reasoning_state);
  if (!kept || text_of(*kept, "provider") != "anthropic") return Json::array();
  const Json* blocks = member(*kept, "blocks");
  return blocks != nullptr && blocks->is_array() ? *blocks : Json::array();
}

// The whole text of the later part takes the place of its first text.
std::string joined_turn(const std::string& paused, const std::string& later, std::string_view text) {
  Json blocks = AnthropicReasoningState::blocks(paused);
  Json rest = AnthropicReasoningState::blocks(later);
  if (rest.empty()) rest.push_back({{"type", "text"}});
  for (Json& block : rest) {
    const bool is_place = text_of(block, "type") == "text" && member(block, "text") == nullptr;
    if (is_place && text.empty()) continue;
    if (is_place) block["text"] = std::exchange(text, {});
    blocks.push_back(std::move(block));
  }
  return AnthropicReasoningState::paused(std::move(blocks));
}

namespace {

constexpr std::array<std::pair<std::string_view, int>, 10> kErrorStatus = {{
    {"invalid_request_error", 400},
    {"authentication_error", 401},
    {"billing_error", 402},
    {"permission_error", 403},
    {"not_found_error", 404},
    {"request_too_large", 413},
    {"rate_limit_error", 429},
    {"api_error", 500},
    {"timeout_error", 504},
    {"overloaded_error", 529},
}};

// Later events repeat the counts; some upstreams send zeros there.
void take_count(const Json& usage, std::string_view name, std::int64_t& count) {
  count = std::max(integer_of(usage, name).value_or(0), count);
}

void add_text(schemas::ChatChoice& choice, std::string_view text) {
  if (!choice.content) choice.content.emplace();
  choice.content->append(text);
}

void take_text(const Json& block, schemas::ChatChoice& choice, AnthropicCitations& citations) {
  citations.begin_block(block);
  add_text(choice, text_of(block, "text"));
  citations.advance(text_of(block, "text"));
  citations.end_block();
}

// A tool that Anthropic runs: its call or its result.
bool is_of_server_tool(std::string_view type) {
  return type == "server_tool_use" || type.ends_with("_tool_result");
}

void take_block(const Json& block, schemas::ChatChoice& choice, AnthropicReasoningState& reasoning_state,
                AnthropicCitations& citations) {
  const std::string_view type = text_of(block, "type");
  if (type == "text") {
    take_text(block, choice, citations);
    reasoning_state.text();
  } else if (type == "thinking") {
    choice.reasoning.append(text_of(block, "thinking"));
    reasoning_state.thinking(text_of(block, "thinking"), text_of(block, "signature"));
  } else if (type == "redacted_thinking") {
    reasoning_state.redacted(text_of(block, "data"));
  } else if (type == "tool_use") {
    const Json* input = member(block, "input");
    choice.tool_calls.push_back({.id = std::string(text_of(block, "id")),
                                 .type = "function",
                                 .name = std::string(text_of(block, "name")),
                                 .arguments = input != nullptr ? schemas::dump(*input) : "{}"});
    reasoning_state.call(text_of(block, "id"));
  } else if (is_of_server_tool(type)) {
    reasoning_state.server_tool(block);
  }
}

}  // namespace

std::string anthropic_finish_reason(std::string_view stop_reason) {
  if (stop_reason == "max_tokens" || stop_reason == "model_context_window_exceeded") return "length";
  if (stop_reason == "pause_turn") return std::string(kPausedTurn);
  if (stop_reason == "tool_use") return "tool_calls";
  if (stop_reason == "refusal") return "content_filter";
  return "stop";
}

base::Error anthropic_error(const Target& target, const Json& node) {
  const std::string_view type = text_of(node, "type");
  const auto* const known = std::find_if(kErrorStatus.begin(), kErrorStatus.end(),
                                         [&](const auto& one) { return one.first == type; });
  return stream_error(target, known == kErrorStatus.end() ? 0 : known->second,
                      upstream_text(text_of(node, "message")));
}

std::string_view anthropic_refusal(const Json& message) {
  const Json* details = member(message, "stop_details");
  return details == nullptr ? std::string_view() : text_of(*details, "explanation");
}

void AnthropicUsage::take(const Json* usage) {
  if (usage == nullptr || !usage->is_object()) return;
  reported_ = true;
  take_count(*usage, "input_tokens", input_);
  take_count(*usage, "cache_read_input_tokens", cache_read_);
  take_count(*usage, "cache_creation_input_tokens", cache_write_);
  take_count(*usage, "output_tokens", output_);
  if (const auto thinking = integer_of(member(member(*usage, "output_tokens_details"), "thinking_tokens"))) {
    thinking_ = std::max(*thinking, thinking_.value_or(0));
  }
  if (const std::string_view tier = text_of(*usage, "service_tier"); !tier.empty()) {
    service_tier_ = service_tier_value(tier);
  }
}

std::optional<schemas::ChatUsage> AnthropicUsage::usage() const {
  if (!reported_) return std::nullopt;
  schemas::ChatUsage usage;
  usage.prompt = input_ + cache_read_ + cache_write_;
  usage.completion = output_;
  usage.total = usage.prompt + usage.completion;
  usage.cached = cache_read_;
  if (cache_write_ > 0) usage.cache_write = cache_write_;
  usage.reasoning = thinking_;
  return usage;
}

base::Result<schemas::ChatReply> anthropic_reply(const Target& target, std::string_view body) {
  const std::optional<Json> message = parse_wire(body);
  if (!message) return unreadable(target, body);
  if (const Json* node = member(*message, "error")) return anthropic_error(target, *node);
  const Json* content = member(*message, "content");
  if (content == nullptr || !content->is_array()) return not_a_reply(target);

  schemas::ChatReply reply;
  reply.id = text_of(*message, "id");
  reply.model = text_of(*message, "model");
  schemas::ChatChoice& choice = reply.choices.emplace_back();
  AnthropicReasoningState reasoning_state;
  AnthropicCitations citations;
  for (const Json& block : *content) take_block(block, choice, reasoning_state, citations);
  citations.add_to(choice.extra);
  choice.finish_reason = anthropic_finish_reason(text_of(*message, "stop_reason"));
  if (const std::string_view why = anthropic_refusal(*message); !why.empty()) choice.refusal = why;
  if (!choice.content && choice.tool_calls.empty()) choice.content = "";
  choice.reasoning_state = reasoning_state.take();
  if (choice.finish_reason == kPausedTurn) {
    if (content->empty()) choice.finish_reason = "length";
    choice.reasoning_state = content->empty() ? "" : AnthropicReasoningState::paused(*content);
  }

  AnthropicUsage usage;
  usage.take(member(*message, "usage"));
  reply.usage = usage.usage();
  reply.service_tier = usage.service_tier();
  return reply;
}

std::optional<schemas::ChatUsage> anthropic_reply_usage(const Json& reply) {
  AnthropicUsage usage;
  usage.take(member(reply, "usage"));
  return usage.usage();
}

namespace {

class AnthropicStream final : public StreamReader {
 public:
  explicit AnthropicStream(const Target& target) : target_(target) {}

  base::Status read(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out) override {
    const std::optional<Json> node = parse_wire(event.data);
    if (!node) return unreadable(target_, event.data);
    if (!node->is_object()) return not_a_reply(target_);
    const std::string_view type = text_of(*node, "type");
    if (const Json* error = member(*node, "error")) return anthropic_error(target_, *error);
    if (type.empty()) return not_a_reply(target_);
    if (type == "message_start") {
      begin(*node);
    } else if (type == "content_block_start") {
      open(*node, out);
    } else if (type == "content_block_delta") {
      add(*node, out);
    } else if (type == "content_block_stop") {
      close(*node, out);
    } else if (type == "message_delta") {
      keep_reason(*node);
    } else if (type == "message_stop") {
      complete_ = stopped_ = true;
      end(out);
    }
    return {};  // pings, and unknown events of later versions
  }

  void end(std::vector<schemas::ChatPiece>& out) override {
    if (!complete_ || std::exchange(ended_, true)) return;
    schemas::ChatPiece& piece = out.emplace_back();
    piece.finish_reason = reason_.empty() && calls_ > 0 ? "tool_calls" : anthropic_finish_reason(reason_);
    piece.reasoning_state = reasoning_state_.take();
    if (piece.finish_reason == kPausedTurn) pause(piece);
    if (!refusal_.empty()) piece.refusal = refusal_;
  }

  bool complete(int) const override { return complete_; }
  bool has_end_marker() const override { return stopped_; }
  void keep_turn() override { turn_ = Json::array(); }
  const schemas::ChatMetadata& facts() const override { return facts_; }

 private:
  struct Block {
    std::string type, id, thinking, signature;
    std::string input;           // of a call whose arguments arrive complete at its start
    Json server_call = nullptr;  // its `input` arrives in `arguments`
    std::string arguments = {};
    int call = 0;
    bool has_arguments = false;
    // Only if the turn is kept: the block as it began, with the citations since, and its text.
    Json kept = nullptr;
    std::string text = {};
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
    if (given == nullptr || !given->is_object()) return;
    Block& block = blocks_[integer_of(event, "index").value_or(0)];
    block = {};
    block.type = text_of(*given, "type");
    if (keeps_turn()) block.kept = *given;
    if (block.type == "text") {
      reasoning_state_.text();
      block.text = text_of(*given, "text");
      citations_.begin_block(*given);
      if (const std::string_view text = text_of(*given, "text"); !text.empty()) advance(text, out);
    } else if (block.type == "thinking") {
      think(block, text_of(*given, "thinking"), out);
      block.signature = text_of(*given, "signature");
    } else if (block.type == "redacted_thinking") {
      reasoning_state_.redacted(text_of(*given, "data"));
    } else if (block.type == "tool_use") {
      open_call(*given, block, out);
    } else if (block.type == "server_tool_use") {
      block.server_call = *given;
    } else if (is_of_server_tool(block.type)) {
      reasoning_state_.server_tool(*given);
    }
  }

  void open_call(const Json& given, Block& block, std::vector<schemas::ChatPiece>& out) {
    block.id = text_of(given, "id");
    block.call = calls_++;
    const Json* input = member(given, "input");
    block.input = input != nullptr && input->is_object() ? schemas::dump(*input) : "{}";
    reasoning_state_.call(block.id);
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
      advance(text_of(*delta, "text"), out);
      if (keeps_turn()) block.text += text_of(*delta, "text");
    } else if (type == "citations_delta" && block.type == "text") {
      if (const Json* citation = member(*delta, "citation")) cite(block, *citation);
    } else if (type == "thinking_delta" && block.type == "thinking") {
      think(block, text_of(*delta, "thinking"), out);
    } else if (type == "signature_delta") {
      block.signature += text_of(*delta, "signature");
    } else if (type == "input_json_delta" && block.type == "tool_use") {
      add_arguments(block, text_of(*delta, "partial_json"), out);
      if (keeps_turn()) block.arguments += text_of(*delta, "partial_json");
    } else if (type == "input_json_delta" && (block.server_call.is_object() || keeps_turn())) {
      block.arguments += text_of(*delta, "partial_json");
    }
  }

  void cite(Block& block, const Json& citation) {
    citations_.cite(citation);
    if (!keeps_turn()) return;
    Json& cited = block.kept["citations"];
    if (!cited.is_array()) cited = Json::array();
    if (cited.size() < kCitationsMax) cited.push_back(citation);
  }

  void advance(std::string_view text, std::vector<schemas::ChatPiece>& out) {
    citations_.advance(text);
    out.emplace_back().content = text;
  }

  void write_citations(std::vector<schemas::ChatPiece>& out) {
    schemas::ChatPiece piece;
    citations_.end_block();
    citations_.add_to(piece.extra);
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
    if (keeps_turn()) keep(block);
    if (block.type == "text") write_citations(out);
    if (block.type == "thinking") reasoning_state_.thinking(block.thinking, block.signature);
    if (block.server_call.is_object()) close_server_call(block);
    if (block.type == "tool_use" && !block.has_arguments) add_arguments(block, block.input, out);
    blocks_.erase(found);
  }

  bool keeps_turn() const { return turn_.is_array(); }

  // Adds the whole block to the turn, as it is in a reply that is not streamed.
  void keep(Block& block) {
    if (block.type == "text") block.kept["text"] = std::move(block.text);
    if (block.type == "thinking") {
      block.kept["thinking"] = block.thinking;
      block.kept["signature"] = block.signature;
    }
    if (std::optional<Json> input = parse_wire(block.arguments); input && input->is_object())
      block.kept["input"] = *std::move(input);
    turn_.push_back(std::move(block.kept));
  }

  void close_server_call(Block& block) {
    if (std::optional<Json> input = parse_wire(block.arguments); input && input->is_object())
      block.server_call["input"] = *std::move(input);
    reasoning_state_.server_tool(std::move(block.server_call));
  }

  // The reason is sent at the end of the stream: only then is it known that no block follows.
  void keep_reason(const Json& event) {
    count(member(event, "usage"));
    const Json* delta = member(event, "delta");
    const std::string_view reason = delta != nullptr ? text_of(*delta, "stop_reason") : std::string_view();
    if (reason.empty()) return;
    complete_ = true;  // message_stop adds nothing and may be missing
    reason_ = reason;
    if (const std::string_view why = anthropic_refusal(*delta); !why.empty()) refusal_ = why;
  }

  void pause(schemas::ChatPiece& piece) {
    for (auto& [index, block] : std::exchange(blocks_, {})) {
      if (keeps_turn()) keep(block);
    }
    const bool can_continue = keeps_turn() && !turn_.empty();
    if (!can_continue) piece.finish_reason = "length";
    piece.reasoning_state = can_continue ? AnthropicReasoningState::paused(std::move(turn_)) : "";
    turn_ = nullptr;
  }

  const Target& target_;
  std::map<std::int64_t, Block> blocks_;  // open blocks
  Json turn_ = nullptr;                   // its whole blocks, if they are kept
  AnthropicReasoningState reasoning_state_;
  AnthropicCitations citations_;
  AnthropicUsage usage_;
  schemas::ChatMetadata facts_;
  std::string reason_, refusal_;
  int calls_ = 0;
  bool complete_ = false, stopped_ = false, ended_ = false;
};

}  // namespace

std::unique_ptr<StreamReader> anthropic_stream(const Target& target) {
  return std::make_unique<AnthropicStream>(target);
}

std::string anthropic_error_message(std::string_view body) {
  const std::optional<Json> node = parse_wire(body);
  const Json* error = node ? member(*node, "error") : nullptr;
  return error != nullptr ? upstream_text(text_of(*error, "message")) : std::string();
}

}  // namespace millrace::providers

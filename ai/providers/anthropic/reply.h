#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ai/providers/citations.h"
#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"

namespace millrace::providers {

// The citations of the text blocks of an answer. A citation applies to its whole block, so it is emitted when
// the block ends.
class AnthropicCitations {
 public:
  void begin_block(const Json& block);  // also reads the citations that the block starts with
  void advance(std::string_view text);
  void cite(const Json& citation);
  void end_block();
  void add_to(Json& extra) { list_.add_to(extra); }

 private:
  std::size_t begin_ = 0, position_ = 0;                      // characters
  std::vector<std::pair<std::string, std::string>> pending_;  // URL and title
  Citations list_;
};

// The state that Anthropic requires back from an earlier answer (ChatChoice::reasoning_state): its thinking
// with signatures, the blocks of tools that Anthropic runs, and the positions of text and calls between.
class AnthropicReasoningState {
 public:
  // Thinking without a signature is discarded, because it cannot be sent back.
  void thinking(std::string_view text, std::string_view signature);
  void redacted(std::string_view data);
  void text();
  void call(std::string_view id);
  void server_tool(Json block);
  // Empty: no thinking, and no call beside tools that Anthropic runs, so nothing must be sent back.
  std::string take();
  // The state of a turn that was paused: all its blocks as received. joined_turn adds the rest of the turn.
  static std::string paused(Json blocks);

  // The blocks of an earlier answer, in order: complete blocks of thinking and of Anthropic's tools, and
  // {"type": "text"} and {"type": "tool_use", "id"} for the others; texts of a turn that was paused are
  // complete too. Empty if there is no state or it is that of another provider.
  static Json blocks(std::string_view reasoning_state);

 private:
  Json blocks_ = Json::array();
  bool thinks_ = false, has_server_tools_ = false, has_calls_ = false;
};

// Translation::chat_reply for Anthropic's Messages API.
base::Result<schemas::ChatReply> anthropic_reply(const Target& target, std::string_view body);
// Translation::reply_usage.
std::optional<schemas::ChatUsage> anthropic_reply_usage(const Json& reply);

// Shared by whole replies and streams.
std::string anthropic_finish_reason(std::string_view stop_reason);
// An error reported in a reply or a stream: an object with type and message.
base::Error anthropic_error(const Target& target, const Json& node);
// Translation::error_message.
std::string anthropic_error_message(std::string_view body);
// The reason of a refusal, if given; otherwise empty.
std::string_view anthropic_refusal(const Json& message);

// Token counts as Anthropic reports them: a later object replaces the members of earlier ones.
class AnthropicUsage {
 public:
  void take(const Json* usage);
  std::optional<schemas::ChatUsage> usage() const;
  const std::string& service_tier() const { return service_tier_; }

 private:
  bool reported_ = false;
  std::int64_t input_ = 0, cache_read_ = 0, cache_write_ = 0, output_ = 0;
  std::optional<std::int64_t> thinking_;
  std::string service_tier_;
};

// Translation::stream_reader for Anthropic's Messages API. `target` outlives it.
std::unique_ptr<StreamReader> anthropic_stream(const Target& target);

}  // namespace millrace::providers

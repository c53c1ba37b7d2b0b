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

// What the text blocks of an answer cite. A citation is for all of the block that it stands in, so it is told
// when that ends.
class AnthropicCitations {
 public:
  void begin_block(const Json& block);  // with the citations that it has from its start
  void advance(std::string_view text);
  void cite(const Json& citation);
  void end_block();
  void add_to(Json& extra) { list_.add_to(extra); }

 private:
  std::size_t begin_ = 0, position_ = 0;                      // characters
  std::vector<std::pair<std::string, std::string>> pending_;  // URL and title
  Citations list_;
};

// What Anthropic wants to see again of an answer (ChatChoice::continuity): its thinking with signatures, and
// where text and calls stood between.
class AnthropicContinuity {
 public:
  void thinking(std::string_view text, std::string_view signature);  // unsigned: forgotten, it cannot be told
  void redacted(std::string_view data);
  void text();
  void call(std::string_view id);
  // Empty: no thinking, so nothing has to be told again.
  std::string take();

  // The blocks of an earlier answer, in order: whole ones of thinking, {"type": "text"} and {"type":
  // "tool_use", "id"} for the others. Empty for another provider's, or none.
  static Json blocks(std::string_view continuity);

 private:
  Json blocks_ = Json::array();
  bool thinks_ = false;
};

// Translation::chat_reply for Anthropic's Messages API.
base::Result<schemas::ChatReply> anthropic_reply(const Target& target, std::string_view body);

// What a whole reply and a stream have in common.
std::string anthropic_finish_reason(std::string_view stop_reason);
// An error that is said in a reply or a stream: an object with type and message.
base::Error anthropic_error(const Target& target, const Json& node);
// Why it refused, if it says so; else empty.
std::string_view anthropic_refusal(const Json& message);

// Counts as Anthropic says them: a later object overrules an earlier one member by member.
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

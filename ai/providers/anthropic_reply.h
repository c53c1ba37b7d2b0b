#pragma once
#include <string>
#include <string_view>

#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"

namespace millrace::providers {

// Translation::chat_reply for Anthropic's Messages API.
base::Result<schemas::ChatReply> anthropic_reply(const Target& target, std::string_view body);

// What a whole reply and a stream have in common.
std::string anthropic_finish_reason(std::string_view stop_reason);
// An error that is said in a reply or a stream: an object with type and message.
base::Error anthropic_error(const Target& target, const Json& said);
// Why it refused, if it says so; else empty.
std::string_view anthropic_refusal(const Json& message);

// Counts as Anthropic says them: a later object overrules an earlier one member by member.
class AnthropicUsage {
 public:
  void take(const Json* usage);
  std::optional<schemas::ChatUsage> usage() const;
  const std::string& service_tier() const { return service_tier_; }

 private:
  bool said_ = false;
  std::int64_t input_ = 0, cache_read_ = 0, cache_write_ = 0, output_ = 0;
  std::optional<std::int64_t> thinking_;
  std::string service_tier_;
};

}  // namespace millrace::providers

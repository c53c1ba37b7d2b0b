#pragma once
#include <string>
#include <string_view>

#include "ai/providers/provider.h"
#include "schemas/json/json_text.h"

// Small text helpers and constants shared by all translations.
namespace millrace::providers {

// `path` after `version` ("/v1"), unless the base URL's last segment is a version already.
std::string versioned_path(std::string_view base_url, std::string_view version, std::string_view path);

// The header with the version of Anthropic's API, sent with every request.
inline constexpr std::pair<std::string_view, std::string_view> kAnthropicVersion{"anthropic-version",
                                                                                 "2023-06-01"};

// Text of the user message that is inserted if a conversation begins with the assistant.
inline constexpr std::string_view kOpening = ".";
// Text of the assistant's message that is inserted between a tool's result and a user's message.
inline constexpr std::string_view kAfterResults = "OK.";
// Text of the user's message that is inserted if a conversation ends with the assistant.
inline constexpr std::string_view kContinue = "Continue.";

// The name under which dropped thinking parts of messages are reported.
inline constexpr std::string_view kThinkingParts = "messages.thinking";

// The name under which system messages are reported that were moved to the top or became the user's.
inline constexpr std::string_view kMovedSystem = "messages.system";

using schemas::cut_text;

// The first `characters` of UTF-8 text.
std::string_view first_characters(std::string_view text, std::size_t characters);
inline constexpr std::size_t kUserCharactersMax = 64;  // longest `user` that providers accept

// The name in error messages: the registry name of the model, or the provider if the call is not about a
// model.
std::string_view shown_name(const Target& target);

// kUpstream: the response is not a reply of the provider's API.
base::Error not_a_reply(const Target& target);
// kUpstream: `text`, a response or an event, cannot be parsed. If it is JSON that is nested too deeply or has
// numbers beyond all bounds, the model may have written it: a content_fault.
base::Error unreadable(const Target& target, std::string_view text);
// kUpstream: "<provider> <what>".
base::Error fault(const Target& target, std::string_view what);
// The same; a fault of the content of this answer (base::Error::is_content_fault).
base::Error content_fault(const Target& target, std::string_view what);

// Converts a provider's name of the service tier to OpenAI's.
std::string service_tier_value(std::string_view word);

}  // namespace millrace::providers

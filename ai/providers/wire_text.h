#pragma once
#include <string>
#include <string_view>

#include "ai/providers/provider.h"

// Small text helpers and constants shared by all translations.
namespace millrace::providers {

// `path` after `version` ("/v1"), unless the base URL's last segment is a version already.
std::string versioned_path(std::string_view base_url, std::string_view version, std::string_view path);

// The header with the version of Anthropic's API, sent with every request.
inline constexpr std::pair<std::string_view, std::string_view> kAnthropicVersion{"anthropic-version",
                                                                                 "2023-06-01"};

// Text of the user message that is inserted if a conversation begins with the assistant.
inline constexpr std::string_view kOpening = ".";

// The name under which dropped thinking parts of messages are reported.
inline constexpr std::string_view kThinkingParts = "messages.thinking";

// `text` of at most `bytes_max` bytes, cut between characters.
std::string_view cut_text(std::string_view text, std::size_t bytes_max);

// The first `characters` of UTF-8 text.
std::string_view first_characters(std::string_view text, std::size_t characters);
inline constexpr std::size_t kUserCharactersMax = 64;  // longest `user` that providers accept

// The name in error messages: the registry name of the model, or the provider if the call is not about a
// model.
std::string_view shown_name(const Target& target);

// kUpstream: the response is not a reply of the provider's API.
base::Error not_a_reply(const Target& target);

// Converts a provider's name of the service tier to OpenAI's.
std::string service_tier_value(std::string_view word);

}  // namespace millrace::providers

#pragma once
#include <string>
#include <string_view>

#include "ai/providers/provider.h"

// Small words that all translations say in the same way.
namespace millrace::providers {

// `path` after `version` ("/v1"), unless the base URL's last segment is a version already.
std::string versioned_path(std::string_view base_url, std::string_view version, std::string_view path);

// The header that names the version of its API, on every request.
inline constexpr std::pair<std::string_view, std::string_view> kAnthropicVersion{"anthropic-version",
                                                                                 "2023-06-01"};

// Said for a client whose conversation begins with the model.
inline constexpr std::string_view kOpening = ".";

// The name under which parts of thinking in messages are reported.
inline constexpr std::string_view kThinkingParts = "messages.thinking";

// `text` of at most `bytes_max` bytes, cut between characters.
std::string_view cut_text(std::string_view text, std::size_t bytes_max);

// The first `characters` of UTF-8 text.
std::string_view first_characters(std::string_view text, std::size_t characters);
inline constexpr std::size_t kUserCharactersMax = 64;  // of `user`, as providers take it

// Whom errors name: the registry's model; the provider where no model is asked.
std::string_view shown_name(const Target& target);

// kUpstream: what came is no reply of the provider's API.
base::Error not_a_reply(const Target& target);

// A provider's word for the tier that answered, as OpenAI says it.
std::string service_tier_word(std::string_view word);

}  // namespace millrace::providers

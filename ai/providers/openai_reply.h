#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "ai/providers/provider.h"

// What whole replies and streams of the family have in common. JSON arguments are used up.
namespace millrace::providers {

// What is read of a choice, whole or in chunks.
inline constexpr std::array<std::string_view, 5> kChoiceMembers{"index", "message", "delta", "finish_reason",
                                                                "logprobs"};

base::Result<schemas::ChatReply> openai_reply(const Target& target, std::string_view body);
std::string openai_error_message(std::string_view body);

// OpenAI's word for what an upstream calls the end; empty: it says that it failed.
std::string openai_finish_reason(std::string_view said, bool has_calls);

// nullopt: `usage` is no object.
std::optional<schemas::ChatUsage> openai_usage(const nlohmann::json& usage);

// Members of a reply or of a chunk beside its choices: id, model, usage and so on, what is unknown to
// `extra`.
void read_facts(nlohmann::json& chunk, schemas::ChatFacts& facts);

// The error that `value` is instead of a reply or an event, if it is one.
std::optional<base::Error> said_instead(const Target& target, const nlohmann::json& value);

// The rest of `object` without nulls, empty values and the `known` ones is added to `extra`.
void keep_unknown(nlohmann::json& object, std::span<const std::string_view> known, nlohmann::json& extra);

}  // namespace millrace::providers

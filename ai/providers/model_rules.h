#pragma once
#include <string_view>

#include "ai/providers/provider.h"

// What single models of an OpenAI-shaped provider lack; `support(Target, …)` of provider.h rests on it.
namespace millrace::providers {

// Does this model know `word` as a value of `parameter` (reasoning_effort, service_tier, verbosity)?
bool takes_word(const Target& target, std::string_view parameter, std::string_view word);

// Takes sampling parameters only while it does not reason: reasoning_effort absent or "none".
bool samples_unless_reasoning(const Target& target);

}  // namespace millrace::providers

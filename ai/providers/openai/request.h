#pragma once
#include <string_view>

#include "ai/providers/provider.h"

namespace millrace::providers {

// The request in the dialect of `target`; every parameter that is not told as it was given is in `dropped`.
base::Result<WireRequest> openai_request(const Target& target, const schemas::ChatRequest& request,
                                         bool stream);

// The messages in the dialect of `target`, as JSON text.
std::string openai_messages(const Target& target, const nlohmann::json& messages,
                            schemas::DroppedParams& dropped);

// What single models of an OpenAI-shaped provider lack; `support(Target, …)` of provider.h rests on it.

// Does this model know `word` as a value of `parameter` (reasoning_effort, service_tier, verbosity)?
bool takes_word(const Target& target, std::string_view parameter, std::string_view word);

// Takes sampling parameters only while it does not reason: reasoning_effort absent or "none".
bool samples_unless_reasoning(const Target& target);

}  // namespace millrace::providers

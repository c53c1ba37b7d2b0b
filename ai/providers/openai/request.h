#pragma once
#include <string_view>

#include "ai/providers/provider.h"

namespace millrace::providers {

// The request in the dialect of `target`. `dropped` lists every parameter that is not sent as given.
base::Result<WireRequest> openai_request(const Target& target, const schemas::ChatRequest& request,
                                         bool stream);

// Limits of individual models of OpenAI-compatible providers; used by `support(Target, …)` of provider.h.

// True if the model accepts `word` as a value of `parameter` (reasoning_effort, service_tier, verbosity).
bool supports_value(const Target& target, std::string_view parameter, std::string_view word);

// True if the model accepts sampling parameters only when it does not reason: reasoning_effort is absent or
// "none".
bool samples_unless_reasoning(const Target& target);

}  // namespace millrace::providers

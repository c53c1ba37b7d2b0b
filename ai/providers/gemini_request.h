#pragma once
#include "ai/providers/provider.h"

namespace millrace::providers {

// Translation::chat_request for Gemini's generateContent.
base::Result<WireRequest> gemini_request(const Target& target, const schemas::ChatRequest& request,
                                         bool stream);

// "models/gemini-x", as paths have it.
std::string gemini_model_path(std::string_view model);

}  // namespace millrace::providers

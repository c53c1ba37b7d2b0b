#pragma once
#include "ai/providers/provider.h"

namespace millrace::providers {

// The request in the dialect of `target`; every parameter that is not told as it was given is in `dropped`.
base::Result<WireRequest> openai_request(const Target& target, const schemas::ChatRequest& request,
                                         bool stream);

// The messages in the dialect of `target`, as JSON text.
std::string openai_messages(const Target& target, const nlohmann::json& messages,
                            schemas::DroppedParams& dropped);

}  // namespace millrace::providers

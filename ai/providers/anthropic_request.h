#pragma once
#include "ai/providers/provider.h"

namespace millrace::providers {

// Translation::chat_request for Anthropic's Messages API.
base::Result<WireRequest> anthropic_request(const Target& target, const schemas::ChatRequest& request,
                                            bool stream);

}  // namespace millrace::providers

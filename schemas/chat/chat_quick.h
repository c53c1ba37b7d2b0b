#pragma once
#include <optional>
#include <string>

#include "schemas/chat/chat_request.h"

namespace millrace::schemas {

// The request of `body` without a tree (ADR 21), and `body` taken over: of one model by its name, messages
// that are texts, numbers within their bounds, `stream` and its options, and nothing else. nullopt: it holds
// more than that, or anything that is wrong; who reads it as a tree finds out which. `body` is as it was
// then, but for its capacity.
std::optional<ChatRequest> quick_chat_request(std::string& body);

}  // namespace millrace::schemas

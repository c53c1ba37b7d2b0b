#pragma once
#include <optional>
#include <string>

#include "schemas/chat/chat_request.h"

namespace millrace::schemas {

// Parses `body` without a tree (ADR 21) and takes it over. It accepts only requests with one model by name,
// text messages, numbers within their limits, and `stream` with its options. nullopt: the request has
// anything else or is invalid; the tree parser must decide. `body` is then unchanged, except for its
// capacity.
std::optional<ChatRequest> quick_chat_request(std::string& body);

}  // namespace millrace::schemas

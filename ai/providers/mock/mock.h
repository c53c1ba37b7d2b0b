#pragma once
#include "ai/providers/call.h"

namespace millrace::providers {

// The product's own upstream without a network (`mock: true`), for people without any key: the same request
// has the same answer. It says the last user message again, word by word in a stream; where the message names
// a given tool, or tool_choice asks for one, it calls it with arguments made from its schema; after a tool's
// result it tells the result; `response_format` gets JSON of the wanted shape. Tokens are words. It honours
// n, stop, max_completion_tokens and tool_choice. Loop thread only; handlers as start_chat's.
std::shared_ptr<Call> start_mock_chat(net::Loop& loop, const Target& target,
                                      const schemas::ChatRequest& request, bool stream,
                                      CallHandlers handlers);

// What start_mock_chat answers: pure.
schemas::ChatReply mock_reply(const Target& target, const schemas::ChatRequest& request);

// A value that `schema` (JSON Schema) accepts where its shape is simple; texts are `text`. Bounded: deep down
// lists are empty and choices null where they may be, and past the bounds members are null or left out.
nlohmann::json mock_value(const nlohmann::json& schema, const std::string& text);

}  // namespace millrace::providers

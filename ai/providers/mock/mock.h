#pragma once
#include "ai/providers/call.h"
#include "ai/providers/json_access.h"

namespace millrace::providers {

// A mock upstream without a network (`mock: true`), for users without a key. The same request gives the same
// answer. It repeats the last user message, in a stream word by word. If the message names one of the tools,
// or tool_choice requires one, it calls the tool with arguments generated from its schema. After a tool
// result it repeats the result. With `response_format` it returns JSON that matches. A token is a word. It
// honours n, stop, max_completion_tokens and tool_choice. Loop thread only; handlers as in start_chat.
std::shared_ptr<Call> start_mock_chat(net::Loop& loop, const Target& target,
                                      const schemas::ChatRequest& request, bool stream,
                                      CallHandlers handlers);

// The answer of start_mock_chat. Pure.
schemas::ChatReply mock_reply(const Target& target, const schemas::ChatRequest& request);

// Generates a value that `schema` (JSON Schema) accepts, if the schema is simple. Strings are `text`. The
// size is bounded: at depth, lists are empty and alternatives null if allowed; beyond the bounds, members are
// null or left out.
Json mock_value(const Json& schema, const std::string& text);

}  // namespace millrace::providers

#pragma once
#include <optional>

#include "ai/providers/provider.h"
#include "schemas/json/json_text.h"

namespace millrace::providers {

// Writes a request whose parameters are in ChatRequest::quick. The client's bytes are copied, except the
// model name. nullopt: this target needs one of the parameters changed or dropped.
std::optional<WireRequest> openai_splice(const Target& target, const schemas::ChatRequest& request,
                                         bool stream);

// Shared by both ways to write a request.
WireRequest openai_wire(bool stream);
bool supports_max_tokens(Dialect dialect);  // and not max_completion_tokens
void write_stream(Dialect dialect, schemas::JsonObject& out);

}  // namespace millrace::providers

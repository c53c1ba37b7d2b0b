#pragma once
#include <optional>

#include "ai/providers/provider.h"
#include "schemas/json/json_text.h"

namespace millrace::providers {

// A request whose parameters are in ChatRequest::quick, told byte by byte as the client wrote them, but for
// the model's name. nullopt: this target is told one of them otherwise, or not at all.
std::optional<WireRequest> openai_splice(const Target& target, const schemas::ChatRequest& request,
                                         bool stream);

// What both ways to write a request say alike.
WireRequest openai_wire(bool stream);
bool takes_max_tokens(Dialect dialect);  // and does not know max_completion_tokens
void write_stream(Dialect dialect, schemas::JsonObject& out);

}  // namespace millrace::providers

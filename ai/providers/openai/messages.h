#pragma once
#include <string>

#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"

namespace millrace::providers {

// The messages in the dialect of `target`, as JSON text. Members that the dialect has no place for are left
// out and reported; reasoning is put where it has one.
std::string openai_messages(const Target& target, const Json& messages, schemas::DroppedParams& dropped);

// The same for the tools.
std::string openai_tools(const Target& target, const Json& tools, schemas::DroppedParams& dropped);

}  // namespace millrace::providers

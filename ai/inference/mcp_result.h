#pragma once
#include <cstddef>

#include <nlohmann/json.hpp>

#include "ai/inference/tool_server.h"
#include "platform/base/result.h"

namespace millrace::inference {

// What a tool answered (the result of tools/call), as the model is told it: its texts, what else there is in
// a few words, and its structured content unless a text says the same. Above `bytes_max` it is cut and says
// so. kUpstream: the tool wants to be asked again with what only a person can give (`input_required`), or it
// is no result. Pure.
base::Result<McpOutcome> read_mcp_outcome(const nlohmann::json& result, std::size_t bytes_max);

}  // namespace millrace::inference

#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/json_access.h"

namespace millrace::providers {

// The function tools of a request and its choice among them, read from OpenAI's form. Views lead into it.
struct FunctionTool {
  std::string_view name, description;
  const Json* parameters = nullptr;  // null: none
  bool strict = false;
  const Json* cache_control = nullptr;
};
struct ToolChoice {
  enum class Mode : std::uint8_t { kUnset, kAuto, kNone, kRequired };
  Mode mode = Mode::kUnset;
  std::vector<std::string_view> names;  // these alone; empty: all
};
struct ToolRequest {
  std::vector<FunctionTool> tools;
  bool others = false;  // tools that are no functions were left out
  ToolChoice choice;
};

// `tools` and `choice` may be null. A choice of allowed_tools leaves only those.
ToolRequest read_tools(const Json* tools, const Json* choice);

// Arguments that a model once gave, as the JSON object that providers want: what is no object stands in one,
// under "arguments"; nothing is an empty one.
Json arguments_object(std::string_view arguments);

}  // namespace millrace::providers

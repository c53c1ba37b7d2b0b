#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/json_access.h"

namespace millrace::providers {

// The function tools of a request and the tool choice, read from OpenAI's format. Views refer to that JSON.
struct FunctionTool {
  std::string_view name, description;
  const Json* parameters = nullptr;  // null: none
  bool strict = false;
  const Json* cache_control = nullptr;
};
struct ToolChoice {
  enum class Mode : std::uint8_t { kUnset, kAuto, kNone, kRequired };
  Mode mode = Mode::kUnset;
  std::vector<std::string_view> names;  // only these tools; empty: all
};
struct ToolRequest {
  std::vector<FunctionTool> tools;
  bool others = false;  // tools that are not functions were left out
  ToolChoice choice;
};

// `tools` and `choice` may be null. The choice allowed_tools keeps only the tools it lists.
ToolRequest read_tools(const Json* tools, const Json* choice);

// Earlier tool-call arguments as the JSON object that providers require. A value that is not an object
// becomes the member "arguments" of one. Empty arguments become an empty object.
Json arguments_object(std::string_view arguments);

}  // namespace millrace::providers

#include "ai/providers/anthropic_tools.h"

#include <array>

#include "ai/providers/tool_request.h"

namespace millrace::providers {
namespace {

constexpr std::string_view kWebSearch = "web_search";

// The whole schema is told: Anthropic asks only that it is one of an object.
Json input_schema(const Json* parameters) {
  Json schema = parameters != nullptr && parameters->is_object() ? *parameters : Json::object();
  if (text_of(schema, "type") != "object") schema["type"] = "object";
  if (member(schema, "properties") == nullptr) schema["properties"] = Json::object();
  return schema;
}

Json tool_block(const FunctionTool& tool, const ClaudeModel& model, Parameters& report) {
  Json made = {{"name", tool.name}, {"input_schema", input_schema(tool.parameters)}};
  if (!tool.description.empty()) made["description"] = tool.description;
  if (tool.cache_control != nullptr) made["cache_control"] = *tool.cache_control;
  if (tool.strict && model.takes_formats()) made["strict"] = true;
  if (tool.strict && !model.takes_formats()) report.clamped("tools");
  return made;
}

Json choice_block(const ToolChoice& choice) {
  switch (choice.mode) {
    case ToolChoice::Mode::kNone:
      return {{"type", "none"}};
    case ToolChoice::Mode::kRequired:
      if (!choice.names.empty()) return {{"type", "tool"}, {"name", choice.names.front()}};
      return {{"type", "any"}};
    case ToolChoice::Mode::kUnset:
    case ToolChoice::Mode::kAuto:
      break;
  }
  return {{"type", "auto"}};
}

Json search_tool() { return {{"type", "web_search_20250305"}, {"name", kWebSearch}}; }

// OpenAI's web_search_options.
Json openai_search(const Json& options, Parameters& report) {
  Json tool = search_tool();
  if (const Json* place = member(options, "user_location")) {
    const Json* nested = member(place, "approximate");
    tool["user_location"] = nested != nullptr ? *nested : *place;
    tool["user_location"]["type"] = "approximate";
  }
  if (member(options, "search_context_size") != nullptr) report.clamped("web_search_options");
  return tool;
}

// xAI's search_parameters: of its sources those of the web.
Json xai_search(const Json& wanted, Parameters& report) {
  Json tool = search_tool();
  for (const auto& [name, value] : wanted.items()) {
    if (name != "mode" && name != "sources") report.clamped("search_parameters");
  }
  const Json* sources = member(wanted, "sources");
  if (sources == nullptr || !sources->is_array()) return tool;
  for (const Json& source : *sources) {
    if (text_of(source, "type") != "web") {
      report.clamped("search_parameters");
    } else if (const Json* allowed = member(source, "allowed_websites")) {
      tool["allowed_domains"] = *allowed;
    } else if (const Json* excluded = member(source, "excluded_websites")) {
      tool["blocked_domains"] = *excluded;
    }
  }
  return tool;
}

void tell_search(Parameters& parameters, Json& tools) {
  const Json* options = parameters.take("web_search_options");
  const Json* wanted = parameters.take("search_parameters");
  const bool is_off = wanted != nullptr && text_of(*wanted, "mode") == "off";
  if (options == nullptr && (wanted == nullptr || is_off)) return;
  const std::string_view asked = options != nullptr ? "web_search_options" : "search_parameters";
  if (options != nullptr && wanted != nullptr && !is_off) parameters.dropped("search_parameters");
  for (const Json& tool : tools) {
    if (text_of(tool, "name") == kWebSearch) return parameters.dropped(asked);
  }
  tools.push_back(options != nullptr ? openai_search(*options, parameters) : xai_search(*wanted, parameters));
}

}  // namespace

bool tell_anthropic_tools(Parameters& parameters, const ClaudeModel& model, Json& wire) {
  const Json* given = parameters.take("tools");
  const Json* choice = parameters.take("tool_choice");
  const Json* parallel = parameters.take("parallel_tool_calls");
  const ToolRequest request = read_tools(given, choice);
  if (request.others) parameters.dropped("tools");

  Json tools = Json::array();
  for (const FunctionTool& tool : request.tools) tools.push_back(tool_block(tool, model, parameters));
  tell_search(parameters, tools);
  if (tools.empty()) {
    if (request.choice.mode == ToolChoice::Mode::kRequired) parameters.dropped("tool_choice");
    if (parallel != nullptr) parameters.dropped("parallel_tool_calls");
    return false;
  }
  wire["tools"] = std::move(tools);
  if (choice == nullptr && parallel == nullptr) return false;
  Json told = choice_block(request.choice);
  if (parallel != nullptr && request.choice.mode != ToolChoice::Mode::kNone) {
    told["disable_parallel_tool_use"] = !is_true(parallel);
  }
  wire["tool_choice"] = std::move(told);
  return request.choice.mode == ToolChoice::Mode::kRequired;
}

}  // namespace millrace::providers

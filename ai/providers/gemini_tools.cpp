#include "ai/providers/gemini_tools.h"

#include "ai/providers/gemini_config.h"
#include "ai/providers/gemini_schema.h"
#include "ai/providers/tool_request.h"

namespace millrace::providers {
namespace {

Json declaration(const FunctionTool& tool) {
  Json made = {{"name", tool.name}};
  if (!tool.description.empty()) made["description"] = tool.description;
  if (tool.parameters == nullptr) return made;
  Json parameters = gemini_schema(*tool.parameters);
  const Json* properties = member(parameters, "properties");
  // An object without properties is refused: a function without parameters has none.
  if (properties != nullptr && !properties->empty()) made["parameters"] = std::move(parameters);
  return made;
}

Json calling_config(const ToolChoice& choice) {
  switch (choice.mode) {
    case ToolChoice::Mode::kNone:
      return {{"mode", "NONE"}};
    case ToolChoice::Mode::kRequired: {
      Json config = {{"mode", "ANY"}};
      if (!choice.names.empty()) config["allowedFunctionNames"] = choice.names;
      return config;
    }
    case ToolChoice::Mode::kUnset:
    case ToolChoice::Mode::kAuto:
      break;
  }
  return {{"mode", "AUTO"}};
}

// Gemini's own search has no options: it is asked for, or not.
void tell_search(Parameters& parameters, bool is_possible, Json& tools) {
  const Json* options = parameters.take("web_search_options");
  const Json* wanted = parameters.take("search_parameters");
  if (wanted != nullptr && text_of(*wanted, "mode") == "off") wanted = nullptr;
  if (options == nullptr && wanted == nullptr) return;
  if (!is_possible) {
    if (options != nullptr) parameters.dropped("web_search_options");
    if (wanted != nullptr) parameters.dropped("search_parameters");
    return;
  }
  tools.push_back({{"googleSearch", Json::object()}});
  if (options != nullptr && !options->empty()) parameters.clamped("web_search_options");
  if (wanted == nullptr) return;
  for (const auto& [name, value] : wanted->items()) {
    if (name != "mode") parameters.clamped("search_parameters");
  }
}

}  // namespace

void tell_gemini_tools(Parameters& parameters, const GeminiModel& model, Json& wire) {
  const Json* given = parameters.take("tools");
  const Json* choice = parameters.take("tool_choice");
  const ToolRequest request = read_tools(given, choice);
  if (request.others) parameters.dropped("tools");

  Json functions = Json::array();
  for (const FunctionTool& tool : request.tools) {
    if (tool.strict) parameters.clamped("tools");
    functions.push_back(declaration(tool));
  }
  const bool has_functions = !functions.empty();
  Json tools = Json::array();
  if (has_functions) tools.push_back({{"functionDeclarations", std::move(functions)}});
  tell_search(parameters, !has_functions || model.searches_beside_tools(), tools);
  if (!tools.empty()) wire["tools"] = std::move(tools);

  Json config = Json::object();
  if (choice != nullptr && has_functions) config["functionCallingConfig"] = calling_config(request.choice);
  if (!has_functions && request.choice.mode == ToolChoice::Mode::kRequired) parameters.dropped("tool_choice");
  if (const Json* own = parameters.take("tool_config")) merge_gemini(config, *own);
  if (!config.empty()) wire["toolConfig"] = std::move(config);
}

}  // namespace millrace::providers

#include "ai/providers/tool_request.h"

#include <set>

namespace millrace::providers {
namespace {

std::string_view chosen_name(const Json& tool) {
  for (const std::string_view kind : {"function", "custom"}) {
    if (const std::string_view name = text_of(member(member(tool, kind), "name")); !name.empty()) return name;
  }
  return text_of(tool, "name");
}

ToolChoice::Mode mode_named(std::string_view word) {
  if (word == "none") return ToolChoice::Mode::kNone;
  if (word == "required" || word == "any") return ToolChoice::Mode::kRequired;
  return ToolChoice::Mode::kAuto;
}

ToolChoice read_choice(const Json* choice) {
  ToolChoice read;
  if (choice == nullptr) return read;
  if (choice->is_string()) {
    read.mode = mode_named(text_of(choice));
  } else if (text_of(*choice, "type") == "allowed_tools") {
    const Json* allowed = member(*choice, "allowed_tools");
    if (allowed == nullptr) allowed = choice;
    read.mode = mode_named(text_of(*allowed, "mode"));
    if (const Json* tools = member(*allowed, "tools"); tools != nullptr && tools->is_array()) {
      for (const Json& tool : *tools) read.names.push_back(chosen_name(tool));
    }
  } else {
    read.mode = ToolChoice::Mode::kRequired;
    read.names.push_back(chosen_name(*choice));
  }
  return read;
}

}  // namespace

ToolRequest read_tools(const Json* tools, const Json* choice) {
  ToolRequest read;
  read.choice = read_choice(choice);
  if (tools == nullptr || !tools->is_array()) return read;
  for (const Json& tool : *tools) {
    const Json* function = member(tool, "function");
    const std::string_view name = text_of(member(function, "name"));
    if (name.empty()) {
      read.others = true;
    } else {
      const Json* mark = member(tool, "cache_control");
      read.tools.push_back({.name = name,
                            .description = text_of(member(function, "description")),
                            .parameters = member(function, "parameters"),
                            .strict = is_true(member(function, "strict")),
                            .cache_control = mark != nullptr ? mark : member(function, "cache_control")});
    }
  }
  const bool is_subset = choice != nullptr && text_of(*choice, "type") == "allowed_tools";
  if (is_subset) {
    const std::set<std::string_view> allowed(read.choice.names.begin(), read.choice.names.end());
    std::erase_if(read.tools, [&](const FunctionTool& tool) { return !allowed.contains(tool.name); });
    read.choice.names.clear();
  }
  return read;
}

Json arguments_object(std::string_view arguments) {
  if (arguments.find_first_not_of(" \t\r\n") == std::string_view::npos) return Json::object();
  if (std::optional<Json> value = parse_wire(arguments); value && value->is_object())
    return *std::move(value);
  return Json{{"arguments", arguments}};
}

}  // namespace millrace::providers

#include "ai/providers/history.h"

#include "schemas/chat/chat_request.h"

namespace millrace::providers {
namespace {

using Report = std::function<void(const std::string& name)>;

void report_members(Dialect dialect, HistoryPlace place, const Json& object, const Report& report) {
  if (!object.is_object()) return;
  for (const auto& [name, value] : object.items()) {
    if (name == schemas::kReasoningStateMember) continue;  // our own
    if (history(dialect, place, name) == History::kLeftOut && !is_nothing(value))
      report(history_name(place, name));
  }
}

void report_part(Dialect dialect, const Json& part, const Report& report) {
  if (text_of(part, "type") == "thinking") return;  // left out as a whole
  report_members(dialect, HistoryPlace::kPart, part, report);
  for (const std::string_view name : kSourceMembers) {
    if (const Json* source = member(part, name))
      report_members(dialect, HistoryPlace::kSource, *source, report);
  }
}

void report_call(Dialect dialect, const Json& call, const Report& report) {
  report_members(dialect, HistoryPlace::kCall, call, report);
  for (const char* kind : {"function", "custom"}) {
    if (const Json* function = member(call, kind))
      report_members(dialect, HistoryPlace::kFunction, *function, report);
  }
}

}  // namespace

HistoryPlace history_place(const Json& message) {
  const std::string_view role = text_of(message, "role");
  if (role == "assistant") return HistoryPlace::kAssistant;
  return role == "tool" ? HistoryPlace::kResult : HistoryPlace::kMessage;
}

std::string history_name(HistoryPlace place, std::string_view member) {
  const bool is_call = place == HistoryPlace::kCall || place == HistoryPlace::kFunction;
  std::string name = place == HistoryPlace::kTool ? "tools." : is_call ? "messages.tool_calls." : "messages.";
  return name.append(member);
}

bool is_nothing(const Json& value) {
  if (const auto* text = value.get_ptr<const std::string*>()) return text->empty();
  return value.is_null() || (value.is_structured() && value.empty());
}

void report_left_out(Dialect dialect, const Json& message, const Report& report) {
  report_members(dialect, history_place(message), message, report);
  if (const Json* content = member(message, "content"); content != nullptr && content->is_array()) {
    for (const Json& part : *content) report_part(dialect, part, report);
  }
  if (const Json* calls = member(message, "tool_calls"); calls != nullptr && calls->is_array()) {
    for (const Json& call : *calls) report_call(dialect, call, report);
  }
}

void report_left_out_of_tools(Dialect dialect, const Json* tools, const Report& report) {
  if (tools == nullptr || !tools->is_array()) return;
  for (const Json& tool : *tools) {
    report_members(dialect, HistoryPlace::kTool, tool, report);
    if (const Json* function = member(tool, "function"))
      report_members(dialect, HistoryPlace::kTool, *function, report);
  }
}

}  // namespace millrace::providers

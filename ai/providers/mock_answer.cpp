#include <algorithm>

#include "ai/providers/mock.h"
#include "platform/base/ids.h"

namespace millrace::providers {
namespace {

using nlohmann::json;

const json& asked_for(const json& object, const char* name) {
  static const json kNone;
  if (!object.is_object()) return kNone;
  const auto found = object.find(name);
  return found == object.end() ? kNone : *found;
}

std::string all_text(const json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) return text;
  for (const json& part : content) {
    const json& said = asked_for(part, "text");
    if (!said.is_string()) continue;
    if (!text.empty()) text += ' ';
    text += said.get<std::string>();
  }
  return text;
}

std::int64_t words(std::string_view text) {
  std::int64_t count = 0;
  bool inside = false;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!space && !inside) ++count;
    inside = !space;
  }
  return count;
}

std::string last_text(const json& messages, std::string_view role) {
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    if (asked_for(*message, "role") == role) return all_text(asked_for(*message, "content"));
  }
  return {};
}

std::string tool_name(const json& tool) {
  const json& inner = asked_for(tool, asked_for(tool, "type") == "custom" ? "custom" : "function");
  const json& name = asked_for(inner, "name");
  return name.is_string() ? name.get<std::string>() : std::string();
}

// The tool that the request wants called now; null: none.
const json* wanted_tool(const json& body, const std::string& asked) {
  const json& tools = asked_for(body, "tools");
  const json& choice = asked_for(body, "tool_choice");
  if (!tools.is_array() || tools.empty() || choice == "none") return nullptr;
  const auto named = [&](const std::string& name) -> const json* {
    const auto found =
        std::find_if(tools.begin(), tools.end(), [&](const json& t) { return tool_name(t) == name; });
    return found == tools.end() ? nullptr : &*found;
  };
  if (choice.is_object()) return named(tool_name(choice));
  if (asked_for(body["messages"].back(), "role") == "tool") return nullptr;
  for (const json& tool : tools) {
    const std::string name = tool_name(tool);
    if (!name.empty() && asked.find(name) != std::string::npos) return &tool;
  }
  return choice == "required" ? &tools[0] : nullptr;
}

schemas::ToolCall call_of(const json& tool, const std::string& asked) {
  schemas::ToolCall call;
  call.id = "call_" + base::Uuid::make(base::SystemClock().wall()).str();
  call.name = tool_name(tool);
  if (asked_for(tool, "type") == "custom") {
    call.type = "custom";
    call.arguments = asked;
    return call;
  }
  const json& schema = asked_for(asked_for(tool, "function"), "parameters");
  call.arguments = schema.is_object() ? mock_value(schema, asked).dump() : "{}";
  return call;
}

std::string json_answer(const json& format, const std::string& asked) {
  if (asked_for(format, "type") == "json_schema")
    return mock_value(asked_for(asked_for(format, "json_schema"), "schema"), asked).dump();
  return json{{"answer", asked}}.dump();
}

std::string words_of_answer(const json& body, const std::string& asked) {
  const json& format = asked_for(body, "response_format");
  const json& type = asked_for(format, "type");
  if (type == "json_object" || type == "json_schema") return json_answer(format, asked);
  if (asked_for(body["messages"].back(), "role") == "tool")
    return "The tool said: " + last_text(body["messages"], "tool");
  return asked.empty() ? "Hello from mock/chat." : asked;
}

// Cuts `text` after its first `words_max` words; true if something was cut.
bool cut_to_words(std::string& text, std::int64_t words_max) {
  std::int64_t count = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool space = text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r';
    if (!space && !inside && ++count > words_max) {
      text.resize(at);
      return true;
    }
    inside = !space;
  }
  return false;
}

void cut_at_stops(std::string& text, const json& stops) {
  if (!stops.is_array()) return;
  for (const json& stop : stops) {
    if (stop.is_string()) text.resize(std::min(text.size(), text.find(stop.get<std::string>())));
  }
}

schemas::ChatChoice choice_of(const json& body, const std::string& asked) {
  schemas::ChatChoice choice;
  if (const json* tool = wanted_tool(body, asked)) {
    choice.tool_calls.push_back(call_of(*tool, asked));
    choice.finish_reason = "tool_calls";
    return choice;
  }
  std::string text = words_of_answer(body, asked);
  cut_at_stops(text, asked_for(body, "stop"));
  const json& most = asked_for(body, "max_completion_tokens");
  const bool cut = most.is_number_integer() && cut_to_words(text, most.get<std::int64_t>());
  choice.content = std::move(text);
  choice.finish_reason = cut ? "length" : "stop";
  return choice;
}

std::int64_t prompt_tokens(const json& messages) {
  std::int64_t count = 0;
  for (const json& message : messages) count += words(all_text(asked_for(message, "content")));
  return std::max<std::int64_t>(count, 1);
}

}  // namespace

schemas::ChatReply mock_reply(const Target& target, const schemas::ChatRequest& request) {
  const base::WallTime now = base::SystemClock().wall();
  schemas::ChatReply reply;
  reply.id = "chatcmpl-" + base::Uuid::make(now).str();
  reply.created = base::millis(now) / 1000;
  reply.model = target.name;
  reply.system_fingerprint = "mock";
  const std::string asked = last_text(request.body["messages"], "user");
  schemas::ChatUsage usage;
  usage.prompt = prompt_tokens(request.body["messages"]);
  for (int i = 0; i < std::max(request.n, 1); ++i) {
    reply.choices.push_back(choice_of(request.body, asked));
    schemas::ChatChoice& choice = reply.choices.back();
    choice.index = i;
    usage.completion += words(choice.content.value_or(""));
    for (const schemas::ToolCall& call : choice.tool_calls) usage.completion += 1 + words(call.arguments);
  }
  usage.total = usage.prompt + usage.completion;
  reply.usage = usage;
  return reply;
}

}  // namespace millrace::providers

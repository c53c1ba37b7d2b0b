#include "schemas/chat/chat_text.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <simdjson.h>

#include "schemas/json/json.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

constexpr std::array<std::string_view, 13> kChatReplyMembers{"id",
                                                             "object",
                                                             "created",
                                                             "model",
                                                             "choices",
                                                             "usage",
                                                             "service_tier",
                                                             "system_fingerprint",
                                                             "tools_executed",
                                                             "mcp_tool_results",
                                                             "turns_consumed",
                                                             "mcp_server_errors",
                                                             "dropped_calls"};

struct Count {
  std::string_view name;
  std::optional<std::int64_t> value;
};

void append_count(std::string& out, std::string_view name, std::int64_t value) {
  std::array<char, 20> digits{};
  const auto [end, failed] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append("\"", 1).append(name).append("\":", 2);
  if (failed == std::errc()) out.append(digits.data(), end);
}

// Appends `,"name":{…}` with the known counts; appends nothing if none is known.
void append_details(std::string& out, std::string_view name, std::span<const Count> counts) {
  bool any = false;
  for (const Count& each : counts) {
    if (!each.value) continue;
    if (any) {
      out += ',';
    } else {
      out.append(",\"", 2).append(name).append("\":{", 3);
    }
    append_count(out, each.name, *each.value);
    any = true;
  }
  if (any) out += '}';
}

// Appends the arguments as a JSON object; text that is not an object is appended as a string.
void append_arguments(std::string& out, const std::string& arguments) {
  std::string text = arguments;
  auto object = read_json(text);
  if (!object) return append_clean(out, arguments);
  out += dump(whole(std::move(*object)));
}

void append_result(std::string& out, const McpToolResult& result) {
  out += "{\"server_name\":";
  append_clean(out, result.server_name);
  append_member(out, "tool_name", result.tool_name);
  out += ",\"arguments\":";
  append_arguments(out, result.arguments);
  out += result.is_error ? ",\"is_error\":true" : ",\"is_error\":false";
  if (!result.result.empty()) append_member(out, "result", result.result);
  out += ',';
  append_count(out, "duration_ms", result.duration_ms);
  out += '}';
}

void append_error(std::string& out, const McpServerError& error) {
  append_clean(out, error.server_name);
  out += ":{\"message\":";
  append_clean(out, error.message);
  if (!error.code.empty()) append_member(out, "code", error.code);
  if (!error.recommendation.empty()) append_member(out, "recommendation", error.recommendation);
  out += '}';
}

// Appends one member per server, with its first error.
void append_errors(std::string& out, const std::vector<McpServerError>& errors) {
  out += ",\"mcp_server_errors\":{";
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const auto same = [&](const McpServerError& e) { return e.server_name == errors[i].server_name; };
    const auto until = errors.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(errors.begin(), until, same)) continue;
    if (i > 0) out += ',';
    append_error(out, errors[i]);
  }
  out += '}';
}

template <class List, class Append>
void append_list(std::string& out, std::string_view name, const List& list, Append append) {
  out.append(",\"").append(name).append("\":[");
  bool first = true;
  for (const auto& each : list) {
    if (!first) out += ',';
    first = false;
    append(out, each);
  }
  out += ']';
}

void append_tools(std::string& out, const ToolReport& tools) {
  if (!tools.executed.empty())
    append_list(out, "tools_executed", tools.executed,
                [](std::string& to, const std::string& name) { append_clean(to, name); });
  if (!tools.results.empty()) append_list(out, "mcp_tool_results", tools.results, append_result);
  if (tools.turns > 0) append_count(out += ',', "turns_consumed", tools.turns);
  if (!tools.errors.empty()) append_errors(out, tools.errors);
}

}  // namespace

void append_clean(std::string& out, std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return append_json_string(out, text);
  out += Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_member(std::string& out, std::string_view name, std::string_view text) {
  out.append(",\"", 2).append(name).append("\":", 2);
  append_clean(out, text);
}

void append_extra(std::string& out, const Json& extra, std::span<const std::string_view> taken) {
  if (!extra.is_object()) return;
  for (const auto& [name, value] : extra.items()) {
    if (std::find(taken.begin(), taken.end(), name) != taken.end()) continue;
    out += ',';
    append_clean(out, name);
    out += ':';
    out += dump(value);
  }
}

void append_usage(std::string& out, const std::optional<ChatUsage>& usage) {
  if (!usage) {
    out += "null";
    return;
  }
  append_count(out += '{', "prompt_tokens", usage->prompt);
  append_count(out += ',', "completion_tokens", usage->completion);
  append_count(out += ',', "total_tokens", usage->total);
  const Count prompt[] = {{"cached_tokens", usage->cached},
                          {"cache_creation_tokens", usage->cache_write},
                          {"audio_tokens", usage->prompt_audio}};
  append_details(out, "prompt_tokens_details", prompt);
  const Count completion[] = {{"reasoning_tokens", usage->reasoning},
                              {"audio_tokens", usage->completion_audio},
                              {"accepted_prediction_tokens", usage->accepted_prediction},
                              {"rejected_prediction_tokens", usage->rejected_prediction}};
  append_details(out, "completion_tokens_details", completion);
  out += '}';
}

void append_facts(std::string& out, std::string_view service_tier, std::string_view system_fingerprint,
                  const Json& extra, const ToolReport& tools) {
  if (!service_tier.empty()) append_member(out, "service_tier", service_tier);
  if (!system_fingerprint.empty()) append_member(out, "system_fingerprint", system_fingerprint);
  append_extra(out, extra, kChatReplyMembers);
  append_tools(out, tools);
}

std::string_view shown_finish(std::string_view reason, bool old_functions) {
  return old_functions && reason == "tool_calls" ? "function_call" : reason;
}

}  // namespace millrace::schemas

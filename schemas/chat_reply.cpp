#include "schemas/chat_reply.h"

#include <array>

#include "schemas/chat_text.h"
#include "schemas/json_body.h"

namespace millrace::schemas {
namespace {

constexpr std::array<std::string_view, 6> kMessageMembers{"role",       "content",       "refusal",
                                                          "tool_calls", "function_call", "reasoning_content"};

void append_text_or_null(std::string& out, std::string_view name, const std::optional<std::string>& text) {
  if (text) return append_member(out, name, *text);
  out.append(",\"").append(name).append("\":null");
}

void append_call(std::string& out, const ToolCall& call) {
  const bool custom = call.type == "custom";
  out += "{\"id\":";
  append_clean(out, call.id);
  append_member(out, "type", call.type);
  out += custom ? ",\"custom\":{\"name\":" : ",\"function\":{\"name\":";
  append_clean(out, call.name);
  append_member(out, custom ? "input" : "arguments", call.arguments);
  out += "}}";
}

// The old form has room for one call.
void append_calls(std::string& out, const std::vector<ToolCall>& calls, bool old_functions) {
  if (calls.empty()) return;
  if (old_functions) {
    out += ",\"function_call\":{\"name\":";
    append_clean(out, calls.front().name);
    append_member(out, "arguments", calls.front().arguments);
    out += '}';
    return;
  }
  out += ",\"tool_calls\":[";
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i > 0) out += ',';
    append_call(out, calls[i]);
  }
  out += ']';
}

void append_choice(std::string& out, const ChatChoice& choice, bool old_functions) {
  out.append("{\"index\":").append(std::to_string(choice.index));
  out += ",\"message\":{\"role\":\"assistant\"";
  append_text_or_null(out, "content", choice.content);
  append_text_or_null(out, "refusal", choice.refusal);
  if (!choice.reasoning.empty()) append_member(out, "reasoning_content", choice.reasoning);
  append_calls(out, choice.tool_calls, old_functions);
  append_extra(out, choice.extra, kMessageMembers);
  out.append("},\"logprobs\":").append(choice.logprobs.is_null() ? "null" : dump(choice.logprobs));
  out.append(",\"finish_reason\":");
  if (choice.finish_reason.empty()) {
    out += "null}";
  } else {
    append_clean(out, shown_finish(choice.finish_reason, old_functions));
    out += '}';
  }
}

void add_count(std::optional<std::int64_t>& to, const std::optional<std::int64_t>& count) {
  if (count) to = to.value_or(0) + *count;
}

}  // namespace

void add(ChatUsage& to, const ChatUsage& usage) {
  to.prompt += usage.prompt;
  to.completion += usage.completion;
  to.total += usage.total;
  add_count(to.cached, usage.cached);
  add_count(to.reasoning, usage.reasoning);
  add_count(to.prompt_audio, usage.prompt_audio);
  add_count(to.completion_audio, usage.completion_audio);
  add_count(to.accepted_prediction, usage.accepted_prediction);
  add_count(to.rejected_prediction, usage.rejected_prediction);
  to.estimated = to.estimated || usage.estimated;
}

std::string chat_completion_json(const ChatReply& reply, bool old_functions) {
  std::size_t room = 512;
  for (const ChatChoice& each : reply.choices)
    room += (each.content ? each.content->size() : 0) + each.reasoning.size() + 256;
  std::string out;
  out.reserve(room + room / 8);
  out += "{\"id\":";
  append_clean(out, reply.id);
  out.append(",\"object\":\"chat.completion\",\"created\":").append(std::to_string(reply.created));
  append_member(out, "model", reply.model);
  out += ",\"choices\":[";
  for (std::size_t i = 0; i < reply.choices.size(); ++i) {
    if (i > 0) out += ',';
    append_choice(out, reply.choices[i], old_functions);
  }
  out += ']';
  if (reply.usage) append_usage(out += ",\"usage\":", reply.usage);
  append_facts(out, reply.service_tier, reply.system_fingerprint, reply.extra, reply.tools);
  out += '}';
  return out;
}

}  // namespace millrace::schemas

#include <array>
#include <utility>

#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"
#include "schemas/chat/chat_text.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"
#include "schemas/json/json_tree.h"

// Serialisation of chat requests, and their continuation after a turn.
namespace millrace::schemas {
namespace {

constexpr int kVersion = 1;

Json servers_json(const std::vector<McpServerRef>& servers) {
  Json out = Json::array();
  for (const McpServerRef& each : servers)
    out.push_back({{"slug", each.slug}, {"version", each.version}, {"url", each.url}, {"name", each.name}});
  return out;
}

std::vector<McpServerRef> servers_of(const Json& list) {
  std::vector<McpServerRef> out;
  for (const Json& each : list)
    out.push_back({.slug = each.at("slug"),
                   .version = each.at("version"),
                   .url = each.at("url"),
                   .name = each.at("name")});
  return out;
}

Json dropped_json(const DroppedParams& dropped) {
  Json out = Json::array();
  for (const DroppedParam& each : dropped) out.push_back({each.name, static_cast<int>(each.how)});
  return out;
}

DroppedParams dropped_of(const Json& list) {
  DroppedParams out;
  for (const Json& each : list)
    out.push_back({.name = each.at(0), .how = static_cast<DroppedParam::How>(each.at(1).get<int>())});
  return out;
}

std::string list_text(const std::vector<std::string>& texts) { return texts.empty() ? "[]" : dump(texts); }

// Writes everything except the body, without a tree and without empty members.
std::string frame(const ChatRequest& request) {
  JsonObject out(512);
  out.number("v", kVersion).raw("models", list_text(request.models));
  out.raw("unknown", list_text(request.unknown)).flag("stream", request.stream);
  out.flag("include_usage", request.include_usage);
  out.flag("include_obfuscation", request.include_obfuscation).flag("deferred", request.deferred);
  out.flag("strict", request.strict).flag("old_functions", request.old_functions);
  out.flag("asks_format", request.needs_format).number("n", request.n).number("priority", request.priority);
  out.flag("execute_tools", request.execute_tools).number("max_turns", request.max_turns);
  const auto& servers = request.mcp_servers;
  const auto& models = request.model_attributes;
  const auto& agents = request.agent_attributes;
  out.raw("mcp_servers", servers.empty() ? "[]" : dump(servers_json(servers)));
  out.raw("model_attributes", models.empty() ? "{}" : dump(models));
  out.raw("agent_attributes", agents.empty() ? "{}" : dump(agents));
  if (request.allowed_models) out.raw("allowed_models", dump(*request.allowed_models));
  out.raw("dropped", request.dropped.empty() ? "[]" : dump(dropped_json(request.dropped)));
  return out.finish();
}

// Like dump, but appends to one string, so that a tree with large images is not written twice.
void append_tree(std::string& out, const Json& tree) {
  if (const auto* text = tree.get_ptr<const std::string*>()) return append_clean(out, *text);
  if (!tree.is_structured()) {
    out += dump(tree);
    return;
  }
  out += tree.is_object() ? '{' : '[';
  bool first = true;
  for (const auto& [name, value] : tree.items()) {
    if (!std::exchange(first, false)) out += ',';
    if (tree.is_object()) {
      append_clean(out, name);
      out += ':';
    }
    append_tree(out, value);
  }
  out += tree.is_object() ? '}' : ']';
}

std::string spec_text(const ChatRequest& request, const Json& body) {
  std::string out = frame(request);
  out.pop_back();
  const std::size_t bytes = text_bytes(body);
  out.reserve(out.size() + bytes + bytes / 16 + 4096);
  append_tree(out += ",\"body\":", body);
  return out += '}';
}

ChatRequest from_tree(Json& spec) {
  ChatRequest out;
  out.models = spec.at("models").get<std::vector<std::string>>();
  out.unknown = spec.at("unknown").get<std::vector<std::string>>();
  out.stream = spec.at("stream");
  out.include_usage = spec.at("include_usage");
  out.include_obfuscation = spec.at("include_obfuscation");
  out.deferred = spec.at("deferred");
  out.strict = spec.at("strict");
  out.old_functions = spec.at("old_functions");
  out.needs_format = spec.at("asks_format");
  out.n = spec.at("n");
  out.priority = spec.at("priority");
  out.execute_tools = spec.at("execute_tools");
  out.max_turns = spec.at("max_turns");
  out.mcp_servers = servers_of(spec.at("mcp_servers"));
  out.model_attributes = spec.at("model_attributes").get<std::map<std::string, Attributes>>();
  out.agent_attributes = spec.at("agent_attributes").get<Attributes>();
  out.dropped = dropped_of(spec.at("dropped"));
  out.allowed_models = allow_list_from(spec.value("allowed_models", Json()));
  out.body = std::move(spec.at("body"));
  return out;
}

void add_missing(Json& to, const Json& members) {
  for (const auto& [name, value] : members.items()) to.emplace(name, value);
}

Json call_json(const ToolCall& call) {
  const bool custom = call.type == "custom";
  const char* kind = custom ? "custom" : "function";
  Json out = {{"id", call.id},
              {"type", kind},
              {kind, {{"name", call.name}, {custom ? "input" : "arguments", call.arguments}}}};
  if (!call.extra.is_object()) return out;
  if (const auto inner = call.extra.find("function"); inner != call.extra.end() && inner->is_object())
    add_missing(out[kind], *inner);
  for (const auto& [name, value] : call.extra.items())
    if (name != "function") out.emplace(name, value);
  return out;
}

// Members that a provider has sent and has a place for in earlier messages.
constexpr std::array<const char*, 3> kReturnedMembers{"audio", "images", "extra_content"};

Json assistant_json(const ChatChoice& answer) {
  Json out = {{"role", "assistant"}};
  if (answer.content) out["content"] = *answer.content;
  if (answer.refusal) out["refusal"] = *answer.refusal;
  for (const ToolCall& each : answer.tool_calls) out["tool_calls"].push_back(call_json(each));
  for (const char* name : kReturnedMembers) {
    if (answer.extra.is_object() && answer.extra.contains(name)) out[name] = answer.extra[name];
  }
  if (!answer.reasoning_state.empty()) out[std::string(kReasoningStateMember)] = answer.reasoning_state;
  return out;
}

}  // namespace

std::string chat_spec(const ChatRequest& request) { return spec_text(request, request.body); }

base::Result<ChatRequest> chat_request_from_spec(std::string_view spec) {
  try {
    Json tree = Json::parse(spec);
    if (tree.at("v") == kVersion) return from_tree(tree);
  } catch (const Json::exception&) {
  }
  return base::error(base::Code::kInternal, "The stored chat request cannot be read");
}

void append_turn(ChatRequest& request, const ChatChoice& answer, const std::vector<ToolResult>& results) {
  Json& messages = request.body["messages"];
  messages.push_back(assistant_json(answer));
  for (const ToolResult& each : results) {
    messages.push_back({{"role", "tool"}, {"tool_call_id", each.call_id}, {"content", each.text}});
    if (!each.pictures.empty()) messages.back()[std::string(kPicturesMember)] = each.pictures;
  }
}

}  // namespace millrace::schemas

#include "schemas/chat/chat_request.h"

#include <algorithm>
#include <array>
#include <set>

#include "schemas/chat/chat_quick.h"
#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request_fields.h"
#include "schemas/json/json_string.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

// Never sent to an upstream: they are members of ChatRequest, or the gateway honours or reports them.
constexpr std::array<std::string_view, 16> kChatOwn{"model",
                                                    "stream",
                                                    "stream_options",
                                                    "deferred",
                                                    "mcp_servers",
                                                    "max_turns",
                                                    "model_attributes",
                                                    "agent_attributes",
                                                    "auto_execute_tools",
                                                    "automatic_tool_execution",
                                                    "disable_automatic_function_calling",
                                                    "priority",
                                                    "run_at",
                                                    "delay",
                                                    "correlation_id",
                                                    "credentials"};
// Of these and of the reserved parameters, those that are always dropped.
constexpr std::array<std::string_view, 3> kAlwaysDropped{"guardrails", "correlation_id", "credentials"};
constexpr std::array<std::string_view, 2> kAlwaysDroppedPrefixes{"handoff_", "deferred_"};

bool is_always_dropped(std::string_view name) {
  return std::ranges::find(kAlwaysDropped, name) != kAlwaysDropped.end() ||
         std::ranges::any_of(kAlwaysDroppedPrefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool given(const Json& object, std::string_view name) {
  const auto at = object.find(std::string(name));
  return at != object.end() && !at->is_null();
}

// The settings next to a model's name replace absent parameters.
void fill_from_settings(Json& body) {
  const auto model = body.find("model");
  if (model == body.end() || !model->is_object()) return;
  const auto settings = model->find("settings");
  if (settings == model->end() || !settings->is_object()) return;
  for (auto& [name, value] : settings->items())
    if (name != "model" && !given(body, name)) body[name] = std::move(value);
  settings->clear();
}

void report(FieldReader& reader, std::string_view field, std::string msg, std::string_view type) {
  const FieldReader::Inside member(reader, field);
  reader.problem(std::move(msg), std::string(type));
}

// Reports names in a choice that are not in `names`.
void check_chosen(FieldReader& reader, std::string_view field, const std::vector<std::string>& chosen,
                  const std::set<std::string_view>& names) {
  for (const std::string& each : chosen)
    if (!names.contains(each)) return report(reader, field, "There is no tool of this name", "value_error");
}

void check_choices(FieldReader& reader, const ChatRequestDraft& draft) {
  if (!draft.mcp_servers.empty()) return;  // the names of their tools are not known here
  const auto& given = draft.tools.empty() ? draft.functions : draft.tools;
  const std::set<std::string_view> functions(given.begin(), given.end());
  check_chosen(reader, "tool_choice", draft.chosen, functions);
  check_chosen(reader, "function_call", draft.chosen_function, functions);
}

// Reports a request without `messages` and `input`, or with both empty.
void check_conversation(FieldReader& reader, const Json& body) {
  for (const char* each : {"messages", "input"})
    if (given(body, each)) return report(reader, each, "Input should have at least one message", "too_short");
  report(reader, "messages", "Field required", "missing");
}

// Checks that involve more than one parameter.
void check_together(FieldReader& reader, const ChatRequestDraft& draft, const Json& body) {
  if (!draft.has_messages && !draft.has_input) check_conversation(reader, body);
  if (given(body, "stream_options") && !draft.stream)
    report(reader, "stream_options", "Only together with `stream`: true", "value_error");
  if (given(body, "top_logprobs") && !draft.logprobs)
    report(reader, "top_logprobs", "Only together with `logprobs`: true", "value_error");
  if (draft.wants_audio && !given(body, "audio"))
    report(reader, "audio", "Field required when `modalities` has audio", "missing");
  for (const char* each : {"run_at", "delay"})
    if (given(body, each) && !draft.deferred)
      report(reader, each, "Only together with `deferred`: true", "value_error");
  if (draft.n > 1 && !draft.mcp_servers.empty())
    report(reader, "n", "Input should be 1 together with `mcp_servers`", "value_error");
  check_choices(reader, draft);
}

void note(ChatRequest& out, std::string_view name) { out.dropped.push_back({.name = std::string(name)}); }

// Of two parameters with the same meaning, the first counts, and the second is reported as dropped.
void prefer(Json& body, ChatRequest& out, const char* first, const char* second) {
  auto& members = body.get_ref<Json::object_t&>();
  const auto old = members.find(second);
  if (old == members.end()) return;
  if (!body.contains(first)) return members.rename(old, first);
  members.erase(old);
  note(out, second);
}

void note_own(const Json& body, ChatRequest& out) {
  for (const auto& [name, ignored] : body.items())
    if (is_always_dropped(name)) note(out, name);
  if (body.contains("priority") && !out.deferred) note(out, "priority");
  const auto options = body.find("stream_options");
  out.has_stream_options = options != body.end();
  if (!out.has_stream_options) return;
  for (const auto& [name, ignored] : options->items())
    if (name != "include_usage" && name != "include_obfuscation") note(out, "stream_options." + name);
}

void take_own(Json& body, ChatRequest& out) {
  for (auto at = body.begin(); at != body.end();) at = at->is_null() ? body.erase(at) : std::next(at);
  note_own(body, out);
  for (std::string_view each : kChatOwn) body.erase(std::string(each));
  for (auto at = body.begin(); at != body.end();)
    at = is_always_dropped(at.key()) ? body.erase(at) : std::next(at);
}

void form_conversation(Json& body, const ChatRequestDraft& draft, ChatRequest& out) {
  const char* const source = draft.has_messages ? "messages" : "input";
  Json from = std::move(body[source]);
  if (draft.has_messages && draft.has_input) note(out, "input");
  body.erase("input");
  if (from.is_string()) {
    from = Json::array({{{"role", "user"}, {"content", std::move(from)}}});
  } else if (!draft.has_messages) {
    from = messages_of_input(std::move(from), out.dropped);
  }
  form_messages(from);
  body["messages"] = std::move(from);
}

Json take_text(Json& body, const char* name) {
  const auto at = body.find(name);
  if (at == body.end()) return "";
  Json text = std::move(*at);
  body.erase(at);
  return text;
}

// Forms one system prompt: of several, the one of highest precedence; the others are reported as dropped.
void form_instructions(Json& body, ChatRequest& out) {
  prefer(body, out, "system", "system_instruction");
  Json text = take_text(body, "instructions");
  Json system = take_text(body, "system");
  if (text == "") {
    text = std::move(system);
  } else if (system != "") {
    note(out, "system");
  }
  if (text == "") return;
  Json& messages = body["messages"];
  const auto rest = std::remove_if(messages.begin(), messages.end(),
                                   [](const Json& each) { return each["role"] == "system"; });
  if (rest != messages.end()) note(out, "messages.system");
  messages.erase(rest, messages.end());
  Json first = {{"role", "system"}, {"content", std::move(text)}};
  messages.insert(messages.begin(), std::move(first));
}

void form_rest(Json& body, ChatRequest& out) {
  prefer(body, out, "max_completion_tokens", "max_tokens");
  if (const auto stop = body.find("stop"); stop != body.end()) {
    if (stop->is_string()) *stop = Json::array({std::move(*stop)});
    if (stop->empty()) body.erase(stop);
  }
  for (const char* list : {"tools", "functions"})
    if (const auto at = body.find(list); at != body.end() && at->empty()) body.erase(at);
  form_functions(body, out);
  form_tool_choice(body);
  if (!out.needs_format) body.erase("response_format");
  if (out.n == 1) body.erase("n");
  if (!given(body, "logprobs") || body["logprobs"] == false) body.erase("logprobs");
}

bool in(std::span<const Field> table, std::string_view name) {
  return std::any_of(table.begin(), table.end(), [&](const Field& each) { return each.name == name; });
}

// Converts the validated request to its normal form.
ChatRequest formed(ChatRequestDraft draft, Json body) {
  ChatRequest out = draft;
  out.execute_tools = draft.execute_tools && draft.other_execute_tools && !draft.automatic_off;
  take_own(body, out);
  form_conversation(body, draft, out);
  form_instructions(body, out);
  form_rest(body, out);
  for (const auto& [name, ignored] : body.items())
    if (!in(chat_request_fields(), name)) out.unknown.push_back(name);
  out.body = std::move(body);
  return out;
}

}  // namespace

tl::expected<ChatRequest, Refusal> parse_chat_request(std::string& body) {
  auto read = read_json(body, kJsonValuesMax, Numbers::kExact);
  if (!read) return tl::make_unexpected(Refusal{read.error(), {}});
  fill_from_settings(read->value);
  ChatRequestDraft draft;
  FieldReader reader("body", *read);
  reader.read(chat_request_fields(), read->value, &draft);
  reader.read(chat_request_more_fields(), read->value, &draft);
  if (reader.problems().empty()) check_together(reader, draft, read->value);
  if (!reader.problems().empty()) return tl::make_unexpected(invalid(std::move(reader.problems())));
  if (draft.deferred && draft.stream)
    return tl::make_unexpected(Refusal{
        base::error(base::Code::kBadRequest, "A deferred completion cannot be streamed", "deferred"), {}});
  return formed(std::move(draft), whole(std::move(*read)));
}

tl::expected<ChatRequest, Refusal> read_chat_request(std::string& body) {
  if (auto quick = quick_chat_request(body)) return *std::move(quick);
  return parse_chat_request(body);
}

Json body_of(const ChatText& quick) {
  JsonObject out(quick.text.size());
  for (const ChatText::Member& each : quick.members) out.raw(each.name, quick.value(each));
  std::string text = out.finish();
  auto read = read_json(text);
  return read ? whole(*std::move(read)) : Json::object();
}

std::int64_t estimated_tokens(const ChatText& quick) {
  std::int64_t tokens = 0;
  for (const ChatText::Member& each : quick.contents) {
    const std::string_view inside = quick.value(each);
    if (inside.find('\\') == std::string_view::npos) {
      tokens += estimated_tokens(inside);
    } else {
      std::string text(inside);
      tokens += estimated_tokens(unescape_in_place(text.data(), text.size()).value_or(inside));
    }
  }
  return tokens;
}

void form_body(ChatRequest& request) {
  if (request.quick.empty()) return;
  request.body = body_of(request.quick);
  request.quick = {};
}

}  // namespace millrace::schemas

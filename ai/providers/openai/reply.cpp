#include "ai/providers/openai/reply.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ai/providers/call.h"
#include "ai/providers/json_access.h"
#include "ai/providers/openai/stream.h"
#include "ai/providers/upstream_error.h"
#include "ai/providers/wire_text.h"
#include "schemas/json/json_body.h"

namespace millrace::providers {
namespace {

constexpr std::array<std::string_view, 7> kMessageMembers{
    "role", "content", "refusal", "tool_calls", "function_call", "reasoning_content", "reasoning"};

constexpr std::array<std::string_view, 5> kCallMembers{"index", "id", "type", "function", "custom"};
constexpr std::array<std::string_view, 3> kFunctionMembers{"name", "arguments", "input"};

std::string* text_in(Json& object, const char* member) {
  const auto found = object.find(member);
  return found == object.end() ? nullptr : found->get_ptr<std::string*>();
}

std::string taken(Json& object, const char* member) {
  std::string* text = text_in(object, member);
  return text == nullptr ? std::string() : std::move(*text);
}

// The text of a thinking part, which has a text or nested parts.
std::string thinking_text(Json& part) {
  std::string text = taken(part, "thinking");
  const auto nested = part.find("thinking");
  if (nested == part.end() || !nested->is_array()) return text;
  for (Json& thought : *nested) {
    if (thought.is_object()) text += taken(thought, "text");
  }
  return text;
}

// Arguments are JSON text; some upstreams send the object itself.
std::string arguments_of(Json& function, const char* member) {
  const auto found = function.find(member);
  if (found == function.end() || found->is_null()) return {};
  return found->is_string() ? std::move(found->get_ref<std::string&>()) : schemas::dump(*found);
}

}  // namespace

base::Error too_many_calls(const Target& target) {
  return content_fault(target, "sent a choice of more than " + std::to_string(kToolCallsMax) + " tool calls");
}

bool MessageReader::read(Json& message, schemas::ChatPiece& piece) {
  if (!message.is_object()) return true;
  if (const auto content = message.find("content"); content != message.end()) read_content(*content, piece);
  if (std::string* refusal = text_in(message, "refusal")) piece.refusal = std::move(*refusal);
  for (const char* member : {"reasoning_content", "reasoning"}) {
    std::string* text = text_in(message, member);
    if (text == nullptr) continue;
    state_.add_text(member, *text);
    if (piece.reasoning.empty()) piece.reasoning = std::move(*text);
  }
  if (const auto details = message.find("reasoning_details"); details != message.end())
    state_.add_details(*details);
  if (!read_calls(message, piece)) return false;
  keep_unknown(message, kMessageMembers, piece.extra);
  note_piece(piece);
  return true;
}

void MessageReader::note_piece(schemas::ChatPiece& piece) {
  const bool first = !std::exchange(begun_, true);
  if (!first && piece.content == "") piece.content.reset();
  if (!first && piece.refusal == "") piece.refusal.reset();
}

bool MessageReader::read_calls(Json& message, schemas::ChatPiece& piece) {
  if (const auto calls = message.find("tool_calls"); calls != message.end() && calls->is_array()) {
    for (Json& call : *calls) {
      if (!read_call(call, piece)) return false;
    }
  }
  const auto old = message.find("function_call");
  if (old == message.end() || !old->is_object()) return true;
  Json call{{"index", 0}, {"function", std::move(*old)}};
  return read_call(call, piece);
}

// Content is a string or a list of parts. Text and thinking parts are read; other parts are kept.
void MessageReader::read_content(Json& content, schemas::ChatPiece& piece) {
  if (auto* text = content.get_ptr<std::string*>()) {
    piece.content = std::move(*text);
    return;
  }
  if (!content.is_array()) return;
  for (Json& part : content) {
    if (!part.is_object()) continue;
    const std::string type = part.value("type", Json()).is_string() ? taken(part, "type") : std::string();
    if (type == "text") {
      piece.content = piece.content.value_or("") + taken(part, "text");
    } else if (type == "thinking") {
      const std::string text = thinking_text(part);
      state_.add_text(OpenaiReasoningState::kThinking, text);
      piece.reasoning += text;
    } else {
      part["type"] = type;
      Json& parts = piece.extra["content_parts"];
      if (!parts.is_array()) parts = Json::array();  // the upstream's own member of this name
      parts.push_back(std::move(part));
    }
  }
}

bool MessageReader::read_call(Json& call, schemas::ChatPiece& piece) {
  if (!call.is_object()) return true;
  const bool custom = call.contains("custom") && call["custom"].is_object();
  Json none = Json::object();
  Json& function = custom ? call["custom"] : call.contains("function") ? call["function"] : none;
  if (!function.is_object()) return true;
  std::string name = taken(function, "name"), id = taken(call, "id");
  if (id == "null") id.clear();  // Mistral sends this for no id
  schemas::ToolCallPiece out;
  out.arguments = arguments_of(function, custom ? "input" : "arguments");
  const std::size_t known = calls_.size();
  const std::size_t at = call_of(call, id, name, out.arguments);
  if (at >= kToolCallsMax) return false;
  out.index = static_cast<int>(at);
  OpenaiCall& state = calls_[at];
  if (at == known) {
    release_calls(piece);
    state.id = id;
    shown_ids_.push_back(ids_.unique(std::move(id)));
    state.held = {.index = out.index, .id = shown_ids_[at], .type = custom ? "custom" : "function"};
  }
  if (!custom) state.arguments.add(out.arguments);
  state.is_custom = state.is_custom || custom;
  state.has_arguments = state.has_arguments || !out.arguments.empty();
  Json of_function;
  keep_unknown(function, kFunctionMembers, of_function);
  keep_unknown(call, kCallMembers, out.extra);
  if (of_function.is_object()) out.extra["function"] = std::move(of_function);
  state_.add_call(shown_ids_[at], out.extra);
  if (state.take(out, std::move(name))) piece.tool_calls.push_back(std::move(out));
  if (is_whole_) release_calls(piece);
  return true;
}

void MessageReader::release_calls(schemas::ChatPiece& piece) {
  for (OpenaiCall& call : calls_) {
    if (!call.is_sent && !call.held.id.empty()) piece.tool_calls.push_back(call.release());
  }
}

void MessageReader::complete_calls(schemas::ChatPiece& piece) const {
  constexpr const char* kNone = "{}";
  for (std::size_t at = 0; at < calls_.size(); ++at) {
    if (calls_[at].has_arguments || calls_[at].is_custom) continue;
    const int index = static_cast<int>(at);
    const auto first = std::ranges::find(piece.tool_calls, index, &schemas::ToolCallPiece::index);
    if (first != piece.tool_calls.end()) {
      first->arguments = kNone;
    } else {
      piece.tool_calls.push_back({.index = index, .arguments = kNone});
    }
  }
}

// The position of the call that a piece belongs to. Some upstreams send no index, some send 0 for all calls,
// some repeat the id. So a new id begins a new call, and so does a name after complete arguments; without an
// index, each name does. A whole message has each call once.
std::size_t MessageReader::call_of(const Json& call, const std::string& id, std::string_view name,
                                   std::string_view arguments) {
  const auto position = call.find("index");
  const std::int64_t index =
      position != call.end() && position->is_number_integer() ? position->get<std::int64_t>() : -1;
  const auto is_same = [&](const OpenaiCall& known) {
    if (!id.empty() && !known.id.empty()) return id == known.id;
    if (index >= 0) return known.upstream_index == index;
    return name.empty();
  };
  const auto found = std::find_if(calls_.rbegin(), calls_.rend(), [&](const OpenaiCall& known) {
    return !is_whole_ && is_same(known) && (index < 0 || known.upstream_index == index);
  });
  const bool is_known =
      found != calls_.rend() && ((!id.empty() && id == found->id) || !found->is_before(name, arguments));
  if (is_known) return static_cast<std::size_t>(calls_.rend() - found) - 1;
  calls_.push_back({.upstream_index = index});
  return calls_.size() - 1;
}

namespace {

constexpr std::array<std::string_view, 11> kChunkMembers{
    "id",          "object", "created", "model", "choices", "usage", "service_tier", "system_fingerprint",
    "obfuscation", "p",      "error"};
void take_text(const Json& object, const char* member, std::string& to) {
  const auto found = object.find(member);
  if (!to.empty() || found == object.end() || !found->is_string()) return;
  to = found->get_ref<const std::string&>();
}

std::optional<std::int64_t> count_in(const Json* object, std::string_view name) {
  const auto count = integer_of(member(object, name));
  return count && *count >= 0 && *count <= kTokenCountMax ? count : std::nullopt;
}

// The text of an error, which may be in {"error": …}, {"message": …}, {"detail": …}, a list of problems, or a
// string.
std::string words_in(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array() && !value.empty()) return words_in(value.front());
  if (!value.is_object()) return {};
  for (const std::string_view name : {"error", "message", "detail", "msg"}) {
    const Json* inner = member(value, name);
    if (inner == nullptr) continue;
    std::string words = words_in(*inner);
    if (words.empty()) continue;
    // OpenRouter: "Provider returned error", and what the provider has said.
    const std::string_view raw = text_of(member(member(value, "metadata"), "raw"));
    return raw.empty() ? words : words.append(": ").append(raw);
  }
  return {};
}

// The status of an error that is known by its word alone.
constexpr std::array<std::pair<std::string_view, int>, 7> kWordStatus{{{"rate_limit_exceeded", 429},
                                                                       {"rate_limit_error", 429},
                                                                       {"insufficient_quota", 429},
                                                                       {"429", 429},
                                                                       {"context_length_exceeded", 400},
                                                                       {"invalid_request_error", 400},
                                                                       {"overloaded_error", 503}}};

int status_in(const Json& error) {
  for (const std::string_view name : {"status_code", "status", "code"}) {
    if (const auto status = count_in(&error, name))
      return static_cast<int>(std::min<std::int64_t>(*status, 999));
  }
  for (const std::string_view name : {"code", "type"}) {
    const auto* known =
        std::ranges::find(kWordStatus, text_of(error, name), &std::pair<std::string_view, int>::first);
    if (known != kWordStatus.end()) return known->second;
  }
  return 0;
}

base::Result<schemas::ChatChoice> choice_of(const Target& target, Json& node, int place) {
  if (!node.is_object()) return not_a_reply(target);
  if (auto error = reported_instead(target, node)) return *std::move(error);
  MessageReader reader(MessageReader::Form::kWhole);
  schemas::ChatPiece piece;
  if (node.contains("message") && !reader.read(node["message"], piece)) return too_many_calls(target);
  schemas::ChatChoice choice;
  choice.index = static_cast<int>(count_in(&node, "index").value_or(place));
  choice.content = std::move(piece.content);
  choice.refusal = std::move(piece.refusal);
  choice.reasoning = std::move(piece.reasoning);
  std::string reason;
  take_text(node, "finish_reason", reason);
  choice.finish_reason = openai_finish_reason(reason, reader.has_calls());
  if (choice.finish_reason == "tool_calls") reader.complete_calls(piece);
  for (schemas::ToolCallPiece& call : piece.tool_calls) {
    choice.tool_calls.push_back({std::move(call.id), std::move(call.type), std::move(call.name),
                                 std::move(call.arguments), std::move(call.extra)});
  }
  if (choice.finish_reason.empty()) return openai_failure(target, reason);
  if (const Json* logprobs = member(node, "logprobs")) choice.logprobs = *logprobs;
  choice.reasoning_state = reader.take_state(target);
  choice.extra = std::move(piece.extra);
  keep_unknown(node, kChoiceMembers, choice.extra);
  return choice;
}

schemas::ChatReply with_facts(schemas::ChatReply reply, schemas::ChatMetadata&& facts) {
  reply.id = std::move(facts.id);
  reply.created = facts.created;
  reply.model = std::move(facts.model);
  reply.usage = facts.usage;
  reply.service_tier = std::move(facts.service_tier);
  reply.system_fingerprint = std::move(facts.system_fingerprint);
  reply.extra = std::move(facts.extra);
  return reply;
}

base::Result<schemas::ChatReply> reply_of(const Target& target, QuickReply&& quick) {
  schemas::ChatReply reply;
  schemas::ChatChoice& choice = reply.choices.emplace_back();
  choice.index = static_cast<int>(std::max<std::int64_t>(quick.index, 0));
  choice.content = std::move(quick.piece.content);
  choice.refusal = std::move(quick.piece.refusal);
  choice.reasoning = std::move(quick.piece.reasoning);
  choice.finish_reason = openai_finish_reason(quick.upstream_finish_reason, false);
  if (choice.finish_reason.empty()) return openai_failure(target, quick.upstream_finish_reason);
  return with_facts(std::move(reply), std::move(quick.facts));
}

}  // namespace

base::Result<schemas::ChatReply> openai_reply(const Target& target, std::string_view body) {
  if (auto quick = quick_reply(body); quick && quick->has_choice) return reply_of(target, *std::move(quick));
  std::optional<Json> parsed = parse_wire(body);
  if (!parsed) return unreadable(target, body);
  if (!parsed->is_object()) return not_a_reply(target);
  Json& value = *parsed;
  if (auto error = reported_instead(target, value)) return *std::move(error);
  const auto choices = value.find("choices");
  if (choices == value.end() || !choices->is_array()) return not_a_reply(target);
  if (choices->empty()) return content_fault(target, "answered without a choice");
  schemas::ChatReply reply;
  for (Json& node : *choices) {
    base::Result<schemas::ChatChoice> choice =
        choice_of(target, node, static_cast<int>(reply.choices.size()));
    if (!choice) return choice.error();
    reply.choices.push_back(*std::move(choice));
  }
  schemas::ChatMetadata facts;
  read_facts(value, facts);
  return with_facts(std::move(reply), std::move(facts));
}

std::string openai_error_message(std::string_view body) {
  const std::optional<Json> value = parse_wire(body);
  return value && value->is_object() ? upstream_text(words_in(*value)) : std::string();
}

std::string openai_finish_reason(std::string_view word, bool has_calls) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kWords{{
      {"length", "length"},
      {"model_length", "length"},
      {"max_tokens", "length"},
      {"model_context_window_exceeded", "length"},
      {kPausedTurn, "length"},
      {"content_filter", "content_filter"},
      {"tool_calls", "tool_calls"},
      {"tool_use", "tool_calls"},
      {"function_call", "tool_calls"},
      {"error", ""},
      {"abort", ""},
      {"cancelled", ""},
  }};
  const auto* found = std::ranges::find(kWords, word, &std::pair<std::string_view, std::string_view>::first);
  if (found != kWords.end()) return std::string(found->second);
  return has_calls ? "tool_calls" : "stop";
}

base::Error openai_failure(const Target& target, std::string_view finish_reason) {
  return failed_answer(target, std::string("finish_reason ").append(finish_reason));
}

void include_reasoning(schemas::ChatUsage& usage) {
  const std::int64_t reasoning = usage.reasoning.value_or(0);
  if (reasoning > 0 && usage.total == usage.prompt + usage.completion + reasoning)
    usage.completion += reasoning;
}

std::optional<schemas::ChatUsage> openai_usage(const Json& usage) {
  if (!usage.is_object()) return std::nullopt;
  schemas::ChatUsage out;
  const auto count = [&](std::string_view name, std::string_view of_media) {
    const auto tokens = count_in(&usage, name);
    return tokens ? *tokens : count_in(&usage, of_media).value_or(0);
  };
  out.prompt = count("prompt_tokens", "input_tokens");
  out.completion = count("completion_tokens", "output_tokens");
  out.total = count_in(&usage, "total_tokens").value_or(out.prompt + out.completion);
  const Json* prompt = member(usage, "prompt_tokens_details");
  const Json* completion = member(usage, "completion_tokens_details");
  out.cached = count_in(prompt, "cached_tokens");
  if (!out.cached) out.cached = count_in(&usage, "prompt_cache_hit_tokens");
  out.cache_write = count_in(prompt, "cache_creation_tokens");                     // LiteLLM, Millrace
  if (!out.cache_write) out.cache_write = count_in(prompt, "cache_write_tokens");  // OpenRouter
  if (!out.cache_write) out.cache_write = count_in(&usage, "cache_creation_input_tokens");  // older LiteLLM
  out.prompt_audio = count_in(prompt, "audio_tokens");
  out.reasoning = count_in(completion, "reasoning_tokens");
  if (!out.reasoning) out.reasoning = count_in(&usage, "reasoning_tokens");
  out.completion_audio = count_in(completion, "audio_tokens");
  out.accepted_prediction = count_in(completion, "accepted_prediction_tokens");
  out.rejected_prediction = count_in(completion, "rejected_prediction_tokens");
  include_reasoning(out);
  return out;
}

std::optional<schemas::ChatUsage> openai_reply_usage(const Json& reply) {
  const Json* usage = member(reply, "usage");
  if (usage == nullptr) usage = member(member(reply, "x_groq"), "usage");
  const Json* choices = member(reply, "choices");
  if (usage == nullptr && choices != nullptr && choices->is_array() && !choices->empty())
    usage = member(choices->front(), "usage");
  return usage == nullptr ? std::nullopt : openai_usage(*usage);
}

void read_facts(Json& chunk, schemas::ChatMetadata& facts) {
  take_text(chunk, "id", facts.id);
  take_text(chunk, "model", facts.model);
  take_text(chunk, "service_tier", facts.service_tier);
  take_text(chunk, "system_fingerprint", facts.system_fingerprint);
  if (facts.created == 0) facts.created = count_in(&chunk, "created").value_or(0);
  schemas::update(facts.usage, openai_reply_usage(chunk));
  keep_unknown(chunk, kChunkMembers, facts.extra);
}

std::optional<base::Error> reported_instead(const Target& target, const Json& value) {
  const Json* error = member(value, "error");
  if (error == nullptr && text_of(value, "object") != "error") return std::nullopt;
  const Json& fields = error != nullptr ? *error : value;
  base::Error failure = stream_error(target, status_in(fields), upstream_text(words_in(value)));
  set_error_cause(target, failure, fields);
  return failure;
}

void keep_unknown(Json& object, std::span<const std::string_view> known, Json& extra) {
  for (auto member = object.begin(); member != object.end(); ++member) {
    const Json& value = member.value();
    if (value.is_null() || (value.is_structured() && value.empty())) continue;
    if (std::ranges::find(known, std::string_view(member.key())) != known.end()) continue;
    extra[member.key()] = std::move(member.value());
  }
}

}  // namespace millrace::providers

#include "ai/providers/openai_reply.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ai/providers/json_access.h"
#include "ai/providers/openai_message.h"
#include "ai/providers/openai_quick.h"
#include "ai/providers/upstream_status.h"
#include "ai/providers/upstream_words.h"
#include "ai/providers/wire_words.h"

namespace millrace::providers {
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

// An error's words in whichever place: {"error": …}, {"message": …}, {"detail": …}, a list of problems, text.
std::string words_in(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array() && !value.empty()) return words_in(value.front());
  if (!value.is_object()) return {};
  for (const std::string_view name : {"error", "message", "detail", "msg"}) {
    const Json* inner = member(value, name);
    if (inner == nullptr) continue;
    if (std::string words = words_in(*inner); !words.empty()) return words;
  }
  return {};
}

int status_in(const Json& error) {
  for (const std::string_view name : {"status_code", "status", "code"}) {
    if (const auto status = count_in(&error, name))
      return static_cast<int>(std::min<std::int64_t>(*status, 999));
  }
  return 0;
}

base::Result<schemas::ChatChoice> choice_of(const Target& target, Json& said, int place) {
  if (!said.is_object()) return not_a_reply(target);
  MessageReader reader;
  schemas::ChatPiece piece;
  if (said.contains("message") && !reader.read(said["message"], piece)) return too_many_calls(target);
  schemas::ChatChoice choice;
  choice.index = static_cast<int>(count_in(&said, "index").value_or(place));
  choice.content = std::move(piece.content);
  choice.refusal = std::move(piece.refusal);
  choice.reasoning = std::move(piece.reasoning);
  for (schemas::ToolCallPiece& call : piece.tool_calls) {
    choice.tool_calls.push_back(
        {std::move(call.id), std::move(call.type), std::move(call.name), std::move(call.arguments)});
  }
  std::string reason;
  take_text(said, "finish_reason", reason);
  choice.finish_reason = openai_finish_reason(reason, reader.has_calls());
  if (choice.finish_reason.empty()) return stream_error(target, 0, "finish_reason " + upstream_words(reason));
  if (const Json* logprobs = member(said, "logprobs")) choice.logprobs = *logprobs;
  choice.extra = std::move(piece.extra);
  keep_unknown(said, kChoiceMembers, choice.extra);
  return choice;
}

schemas::ChatReply with_facts(schemas::ChatReply reply, schemas::ChatFacts&& facts) {
  reply.id = std::move(facts.id);
  reply.created = facts.created;
  reply.model = std::move(facts.model);
  reply.usage = facts.usage;
  reply.service_tier = std::move(facts.service_tier);
  reply.system_fingerprint = std::move(facts.system_fingerprint);
  reply.extra = std::move(facts.extra);
  return reply;
}

base::Result<schemas::ChatReply> reply_of(const Target& target, QuickReply&& said) {
  schemas::ChatReply reply;
  schemas::ChatChoice& choice = reply.choices.emplace_back();
  choice.index = static_cast<int>(std::max<std::int64_t>(said.index, 0));
  choice.content = std::move(said.piece.content);
  choice.refusal = std::move(said.piece.refusal);
  choice.reasoning = std::move(said.piece.reasoning);
  choice.finish_reason = openai_finish_reason(said.finish_word, false);
  if (choice.finish_reason.empty())
    return stream_error(target, 0, "finish_reason " + upstream_words(said.finish_word));
  return with_facts(std::move(reply), std::move(said.facts));
}

}  // namespace

base::Result<schemas::ChatReply> openai_reply(const Target& target, std::string_view body) {
  if (auto quick = quick_reply(body); quick && quick->has_choice) return reply_of(target, *std::move(quick));
  std::optional<Json> parsed = parse_wire(body);
  if (!parsed || !parsed->is_object()) return not_a_reply(target);
  Json& value = *parsed;
  if (auto error = said_instead(target, value)) return *std::move(error);
  const auto choices = value.find("choices");
  if (choices == value.end() || !choices->is_array() || choices->empty()) return not_a_reply(target);
  schemas::ChatReply reply;
  for (Json& said : *choices) {
    base::Result<schemas::ChatChoice> choice =
        choice_of(target, said, static_cast<int>(reply.choices.size()));
    if (!choice) return choice.error();
    reply.choices.push_back(*std::move(choice));
  }
  schemas::ChatFacts facts;
  read_facts(value, facts);
  return with_facts(std::move(reply), std::move(facts));
}

std::string openai_error_message(std::string_view body) {
  const std::optional<Json> value = parse_wire(body);
  return value && value->is_object() ? upstream_words(words_in(*value)) : std::string();
}

std::string openai_finish_reason(std::string_view said, bool has_calls) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kWords{{
      {"length", "length"},
      {"model_length", "length"},
      {"max_tokens", "length"},
      {"content_filter", "content_filter"},
      {"tool_calls", "tool_calls"},
      {"tool_use", "tool_calls"},
      {"function_call", "tool_calls"},
      {"error", ""},
      {"abort", ""},
      {"cancelled", ""},
  }};
  const auto* found = std::ranges::find(kWords, said, &std::pair<std::string_view, std::string_view>::first);
  if (found != kWords.end()) return std::string(found->second);
  return has_calls ? "tool_calls" : "stop";
}

std::optional<schemas::ChatUsage> openai_usage(const Json& usage) {
  if (!usage.is_object()) return std::nullopt;
  schemas::ChatUsage out;
  out.prompt = count_in(&usage, "prompt_tokens").value_or(0);
  out.completion = count_in(&usage, "completion_tokens").value_or(0);
  out.total = count_in(&usage, "total_tokens").value_or(out.prompt + out.completion);
  const Json* prompt = member(usage, "prompt_tokens_details");
  const Json* completion = member(usage, "completion_tokens_details");
  out.cached = count_in(prompt, "cached_tokens");
  if (!out.cached) out.cached = count_in(&usage, "prompt_cache_hit_tokens");
  out.prompt_audio = count_in(prompt, "audio_tokens");
  out.reasoning = count_in(completion, "reasoning_tokens");
  if (!out.reasoning) out.reasoning = count_in(&usage, "reasoning_tokens");
  out.completion_audio = count_in(completion, "audio_tokens");
  out.accepted_prediction = count_in(completion, "accepted_prediction_tokens");
  out.rejected_prediction = count_in(completion, "rejected_prediction_tokens");
  return out;
}

void read_facts(Json& chunk, schemas::ChatFacts& facts) {
  take_text(chunk, "id", facts.id);
  take_text(chunk, "model", facts.model);
  take_text(chunk, "service_tier", facts.service_tier);
  take_text(chunk, "system_fingerprint", facts.system_fingerprint);
  if (facts.created == 0) facts.created = count_in(&chunk, "created").value_or(0);
  const Json* usage = member(chunk, "usage");
  if (usage == nullptr) usage = member(member(chunk, "x_groq"), "usage");
  if (usage != nullptr && usage->is_object()) facts.usage = openai_usage(*usage);
  keep_unknown(chunk, kChunkMembers, facts.extra);
}

std::optional<base::Error> said_instead(const Target& target, const Json& value) {
  const Json* error = member(value, "error");
  if (error == nullptr && text_of(value, "object") != "error") return std::nullopt;
  const Json& fields = error != nullptr ? *error : value;
  base::Error told = stream_error(target, status_in(fields), upstream_words(words_in(value)));
  name_cause(target, told, fields);
  return told;
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

#include <algorithm>

#include "schemas/chat_reply.h"

namespace millrace::schemas {
namespace {

using nlohmann::json;

ChatChoice& choice_at(std::vector<ChatChoice>& choices, int index) {
  const auto at = std::lower_bound(choices.begin(), choices.end(), index,
                                   [](const ChatChoice& each, int wanted) { return each.index < wanted; });
  if (at != choices.end() && at->index == index) return *at;
  ChatChoice fresh;
  fresh.index = index;
  return *choices.insert(at, std::move(fresh));
}

void append(std::optional<std::string>& to, const std::optional<std::string>& text) {
  if (!text) return;
  if (!to) to.emplace();
  to->append(*text);
}

// Calls are numbered without gaps: a number past the end is the next one.
void add_call(std::vector<ToolCall>& calls, const ToolCallPiece& piece) {
  const auto place = std::min(static_cast<std::size_t>(std::max(piece.index, 0)), calls.size());
  if (place == calls.size()) calls.emplace_back();
  ToolCall& call = calls[place];
  if (!piece.id.empty()) call.id = piece.id;
  if (!piece.type.empty()) call.type = piece.type;
  call.name += piece.name;
  call.arguments += piece.arguments;
}

bool grows(const std::string& name) { return name != "id" && name != "type" && name != "format"; }

// Members of a stream's deltas: texts and lists go on, objects are joined, the rest is replaced.
void merge(json& to, const json& from) {
  for (const auto& [name, value] : from.items()) {
    const auto [at, fresh] = to.emplace(name, value);
    json& old = at.value();
    if (fresh) continue;
    if (old.is_string() && value.is_string() && grows(name)) {
      old.get_ref<std::string&>() += value.get_ref<const std::string&>();
    } else if (old.is_array() && value.is_array()) {
      old.insert(old.end(), value.begin(), value.end());
    } else if (old.is_object() && value.is_object()) {
      merge(old, value);
    } else if (!value.is_null()) {
      old = value;
    }
  }
}

void merge_object(json& to, const json& from) {
  if (!from.is_object()) return;
  if (to.is_null()) to = json::object();
  if (to.is_object()) merge(to, from);
}

void replace(std::string& to, const std::string& text) {
  if (!text.empty()) to = text;
}

}  // namespace

void ChatAssembly::add(const ChatPiece& piece) {
  ChatChoice& choice = choice_at(reply_.choices, piece.index);
  append(choice.content, piece.content);
  append(choice.refusal, piece.refusal);
  choice.reasoning += piece.reasoning;
  for (const ToolCallPiece& each : piece.tool_calls) add_call(choice.tool_calls, each);
  replace(choice.finish_reason, piece.finish_reason);
  replace(choice.continuity, piece.continuity);
  merge_object(choice.logprobs, piece.logprobs);
  merge_object(choice.extra, piece.extra);
}

void ChatAssembly::add(const ChatFacts& facts) {
  replace(reply_.id, facts.id);
  replace(reply_.model, facts.model);
  replace(reply_.service_tier, facts.service_tier);
  replace(reply_.system_fingerprint, facts.system_fingerprint);
  if (facts.created != 0) reply_.created = facts.created;
  if (facts.usage) reply_.usage = facts.usage;
  merge_object(reply_.extra, facts.extra);
}

ChatReply ChatAssembly::take() { return std::exchange(reply_, ChatReply{}); }

}  // namespace millrace::schemas

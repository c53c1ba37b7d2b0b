#include <algorithm>
#include <cctype>

#include "ai/providers/json_access.h"
#include "ai/providers/openai_request.h"
#include "ai/providers/wire_words.h"
#include "schemas/json_body.h"

namespace millrace::providers {
namespace {

using nlohmann::json;

constexpr std::size_t kMistralIdLength = 9;

// Mistral takes ids of calls of nine letters and digits only. Another provider's becomes the same one each
// time.
std::string mistral_id(const std::string& id) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (id.size() == kMistralIdLength && std::ranges::all_of(id, is_word)) return id;
  std::uint64_t hash = 14695981039346656037ull;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  constexpr std::string_view kLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  std::string out;
  for (; out.size() < kMistralIdLength; hash /= kLetters.size())
    out.push_back(kLetters[hash % kLetters.size()]);
  return out;
}

void shorten_id(json& object, const char* member) {
  const auto found = object.find(member);
  if (found != object.end() && found->is_string()) *found = mistral_id(found->get_ref<const std::string&>());
}

void speak_mistral(json& message) {
  if (message.value("role", json()) == "developer") message["role"] = "system";
  shorten_id(message, "tool_call_id");
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || !calls->is_array()) return;
  for (json& call : *calls) {
    if (call.is_object()) shorten_id(call, "id");
  }
}

bool is_thinking(const json& part) { return text_of(part, "type") == "thinking"; }

bool has_thinking(const json& message) {
  const json* content = member(message, "content");
  return content != nullptr && content->is_array() && std::ranges::any_of(*content, is_thinking);
}

// False: there was none.
bool erase_thinking(json& message) {
  if (!has_thinking(message)) return false;
  json& content = message["content"];
  std::erase_if(content.get_ref<json::array_t&>(), is_thinking);
  const json* calls = member(message, "tool_calls");
  if (content.empty() && calls != nullptr && !calls->empty()) {
    message.erase("content");
  } else if (content.empty()) {
    content = "";
  }
  return true;
}

bool changes(const Target& target, const json& messages) {
  switch (target.preset->dialect) {
    case Dialect::kMistral:
    case Dialect::kGroq:
      return true;
    case Dialect::kOpenai:
    case Dialect::kXai:
    case Dialect::kLocal:
    case Dialect::kAnthropic:
    case Dialect::kGemini:
    case Dialect::kMock:
      break;
  }
  return std::ranges::any_of(messages, [](const json& message) {
    return message.is_object() && (message.contains(schemas::kContinuity) || has_thinking(message));
  });
}

}  // namespace

std::string openai_messages(const Target& target, const json& messages, schemas::DroppedParams& dropped) {
  if (!changes(target, messages)) return schemas::dump(messages);
  json told = messages;
  const Dialect dialect = target.preset->dialect;
  bool name_lost = false, thinking_lost = false;
  for (json& message : told) {
    if (!message.is_object()) continue;
    message.erase(std::string(schemas::kContinuity));
    if (dialect == Dialect::kMistral) speak_mistral(message);
    if (dialect != Dialect::kMistral) thinking_lost |= erase_thinking(message);
    if (dialect == Dialect::kGroq) name_lost |= message.erase("name") > 0;
  }
  if (name_lost) dropped.push_back({"messages.name", schemas::DroppedParam::How::kDropped});
  if (thinking_lost) dropped.push_back({std::string(kThinkingParts), schemas::DroppedParam::How::kDropped});
  return schemas::dump(told);
}

}  // namespace millrace::providers

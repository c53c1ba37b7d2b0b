#include "ai/providers/openai/reasoning_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schemas/chat/chat_reply.h"
#include "schemas/chat/chat_request.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_tree.h"

namespace millrace::providers {
namespace {

constexpr std::string_view kDetails = "reasoning_details";
constexpr std::string_view kFunction = "function";  // what is kept of a call's function
constexpr std::array<std::string_view, 3> kReasoning{"reasoning_content", "reasoning", kDetails};

// True: `next` continues the text of `last`, in a stream.
bool continues(const Json& last, const Json& next) {
  const std::string_view type = text_of(next, "type");
  return (type == "reasoning.text" || type == "reasoning.summary") && text_of(last, "type") == type &&
         integer_of(last, "index") == integer_of(next, "index");
}

void add_members(Json& to, const Json* members) {
  if (members == nullptr || !members->is_object()) return;
  for (const auto& [name, value] : members->items())
    if (name != kFunction) to.emplace(name, value);
}

// Calls `change` with the function of a call and the members that are kept of it, and with the call itself.
template <class Change>
void change_call(Json& call, const Json& kept, Change&& change) {
  for (const char* kind : {"function", "custom"}) {
    if (const auto function = call.find(kind); function != call.end() && function->is_object())
      change(*function, member(kept, kFunction));
  }
  change(call, &kept);
}

void erase_members(Json& from, const Json* members) {
  if (members == nullptr || !members->is_object()) return;
  for (const auto& [name, value] : members->items())
    if (name != kFunction) from.erase(name);
}

void erase_of_call(Json& call, const Json& kept) { change_call(call, kept, erase_members); }
void restore_call(Json& call, const Json& kept) { change_call(call, kept, add_members); }

void each_kept_call(Json& message, const Json* kept, void (*change)(Json& call, const Json& kept)) {
  const auto calls = message.find("tool_calls");
  if (kept == nullptr || calls == message.end() || !calls->is_array()) return;
  for (Json& call : *calls) {
    const Json* extra = call.is_object() ? member(kept, text_of(call, "id")) : nullptr;
    if (extra != nullptr) change(call, *extra);
  }
}

void restore_message(Json& message, const Json* kept) {
  if (kept == nullptr || !kept->is_object()) return;
  for (const auto& [name, value] : kept->items()) {
    if (name == OpenaiReasoningState::kThinking) {
      add_thinking_part(message, text_of(&value));
    } else {
      message[name] = value;
    }
  }
}

}  // namespace

void add_thinking_part(Json& message, std::string_view text) {
  const Json* given = member(message, "content");
  const auto is_thinking = [](const Json& part) { return text_of(part, "type") == "thinking"; };
  if (given != nullptr && given->is_array() && std::ranges::any_of(*given, is_thinking)) return;
  Json content = Json::array();
  content.push_back({{"type", "thinking"}, {"thinking", Json::array({{{"type", "text"}, {"text", text}}})}});
  Json& old = message["content"];
  if (old.is_array()) {
    for (Json& part : old) content.push_back(std::move(part));
  } else if (!text_of(&old).empty()) {
    content.push_back({{"type", "text"}, {"text", std::move(old)}});
  }
  old = std::move(content);
}

void OpenaiReasoningState::count(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ <= kReasoningStateMax) return;
  message_ = Json::object();
  calls_ = Json::object();
}

void OpenaiReasoningState::add_text(std::string_view name, std::string_view text) {
  if (text.empty()) return;
  count(text.size());
  if (bytes_ > kReasoningStateMax) return;
  Json& kept = message_[std::string(name)];
  if (kept.is_null()) kept = "";
  kept.get_ref<std::string&>().append(text);
}

void OpenaiReasoningState::add_details(const Json& details) {
  if (!details.is_array() || details.empty()) return;
  count(schemas::text_bytes(details));
  if (bytes_ > kReasoningStateMax) return;
  Json& kept = message_[std::string(kDetails)];
  for (const Json& each : details) {
    if (kept.is_null() || !continues(kept.back(), each)) {
      kept.push_back(each);
      continue;
    }
    for (const auto& [name, value] : each.items()) {
      Json& old = kept.back()[name];
      if (value.is_string() && old.is_string() && (name == "text" || name == "summary")) {
        old.get_ref<std::string&>().append(value.get_ref<const std::string&>());
      } else if (!value.is_null()) {
        old = value;
      }
    }
  }
}

void OpenaiReasoningState::add_call(const std::string& id, const Json& extra) {
  has_calls_ = true;
  if (!extra.is_object()) return;
  count(schemas::text_bytes(extra));
  if (bytes_ <= kReasoningStateMax) schemas::merge_members(calls_[id], extra);
}

std::string OpenaiReasoningState::take(std::string_view provider) {
  if (!has_calls_ || (message_.empty() && calls_.empty())) return {};
  Json state = {{"provider", provider}};
  if (!message_.empty()) state["message"] = std::exchange(message_, Json::object());
  if (!calls_.empty()) state["calls"] = std::exchange(calls_, Json::object());
  return schemas::dump(state);
}

std::optional<Json> OpenaiReasoningState::read(std::string_view provider, Json& message) {
  const auto at = message.find(schemas::kReasoningStateMember);
  if (at == message.end()) return std::nullopt;
  std::optional<Json> state = parse_wire(text_of(&*at));
  message.erase(at);
  if (state && text_of(*state, "provider") != provider) state.reset();
  return state;
}

void OpenaiReasoningState::erase_from(const Json& state, Json& message) {
  if (member(state, "message") != nullptr) {
    for (const std::string_view name : kReasoning) message.erase(std::string(name));
  }
  each_kept_call(message, member(state, "calls"), erase_of_call);
}

void OpenaiReasoningState::restore(const Json& state, Json& message) {
  restore_message(message, member(state, "message"));
  each_kept_call(message, member(state, "calls"), restore_call);
}

}  // namespace millrace::providers

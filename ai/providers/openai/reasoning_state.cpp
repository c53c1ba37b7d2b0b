#include "ai/providers/openai/reasoning_state.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ai/providers/history.h"
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

// Erases each member that both have: from `given` if the values are equal, else from `kept`.
void settle_members(Json& given, Json* kept) {
  if (kept == nullptr || !kept->is_object()) return;
  for (auto at = kept->begin(); at != kept->end();) {
    const auto own = at.key() == kFunction ? given.end() : given.find(at.key());
    const bool is_other = own != given.end() && !is_nothing(*own) && *own != *at;
    if (own != given.end() && !is_other) given.erase(own);
    at = is_other ? kept->erase(at) : std::next(at);
  }
}

Json* member_in(Json& object, std::string_view name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// Calls `change` with the function of a call and the members that are kept of it, and with the call itself.
template <class Change>
void change_call(Json& call, Json& kept, Change&& change) {
  for (const char* kind : {"function", "custom"}) {
    if (const auto function = call.find(kind); function != call.end() && function->is_object())
      change(*function, member_in(kept, kFunction));
  }
  change(call, &kept);
}

template <class Change>
void each_kept_call(Json& message, Json& state, Change&& change) {
  const auto calls = message.find("tool_calls");
  Json* kept = member_in(state, "calls");
  if (kept == nullptr || calls == message.end() || !calls->is_array()) return;
  for (Json& call : *calls) {
    Json* extra = call.is_object() ? member_in(*kept, text_of(call, "id")) : nullptr;
    if (extra != nullptr) change_call(call, *extra, change);
  }
}

// The text of the thinking parts of a message.
std::string thinking_parts(const Json& message) {
  std::string text;
  const Json* content = member(message, "content");
  if (content == nullptr || !content->is_array()) return text;
  for (const Json& part : *content) {
    if (text_of(part, "type") != OpenaiReasoningState::kThinking) continue;
    const Json* thoughts = member(part, OpenaiReasoningState::kThinking);
    text += text_of(thoughts);
    if (thoughts == nullptr || !thoughts->is_array()) continue;
    for (const Json& each : *thoughts) text += text_of(each, "text");
  }
  return text;
}

std::string_view trimmed_text(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// True if `text` is empty, or reasoning that `kept` has under any name. Clients get all of it under one.
bool is_kept_text(const Json& kept, std::string_view text) {
  text = trimmed_text(text);
  return text.empty() ||
         std::ranges::any_of(kept, [&](const Json& value) { return trimmed_text(text_of(&value)) == text; });
}

bool is_same_value(const Json* kept, const Json& given) { return kept != nullptr && *kept == given; }

// True if the message has no reasoning besides that of `kept`.
bool is_kept_reasoning(const Json& kept, const Json& message) {
  const Json* details = member(message, kDetails);
  return is_kept_text(kept, text_of(message, "reasoning_content")) &&
         is_kept_text(kept, text_of(message, "reasoning")) && is_kept_text(kept, thinking_parts(message)) &&
         (details == nullptr || is_nothing(*details) || is_same_value(member(kept, kDetails), *details));
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

// The model at its server: only it understands what it thought.
std::string origin_of(const Target& target) {
  return std::string(target.preset->name)
      .append(" ")
      .append(target.base_url)
      .append(" ")
      .append(target.model);
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
  count(schemas::tree_bytes(details));
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
  count(schemas::tree_bytes(extra));
  if (bytes_ <= kReasoningStateMax) schemas::merge_members(calls_[id], extra);
}

std::string OpenaiReasoningState::take(const Target& target) {
  if (!has_calls_ || (message_.empty() && calls_.empty())) return {};
  Json state = {{"origin", origin_of(target)}};
  if (!message_.empty()) state["message"] = std::exchange(message_, Json::object());
  if (!calls_.empty()) state["calls"] = std::exchange(calls_, Json::object());
  return schemas::dump(state);
}

std::optional<Json> OpenaiReasoningState::read(const Target& target, Json& message) {
  const auto at = message.find(schemas::kReasoningStateMember);
  if (at == message.end()) return std::nullopt;
  std::optional<Json> state = parse_wire(text_of(&*at));
  message.erase(at);
  if (state && text_of(*state, "origin") != origin_of(target)) state.reset();
  return state;
}

void OpenaiReasoningState::settle(Json& state, Json& message) {
  if (const Json* kept = member(state, "message"); kept != nullptr && !is_kept_reasoning(*kept, message)) {
    state.erase("message");
  } else if (kept != nullptr) {
    for (const std::string_view name : kReasoning) message.erase(std::string(name));
  }
  each_kept_call(message, state, settle_members);
}

void OpenaiReasoningState::restore(Json& state, Json& message) {
  restore_message(message, member(state, "message"));
  each_kept_call(message, state, add_members);
}

}  // namespace millrace::providers

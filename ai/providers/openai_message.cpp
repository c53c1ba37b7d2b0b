#include "ai/providers/openai_message.h"

#include <algorithm>
#include <array>

#include "ai/providers/openai_reply.h"
#include "ai/providers/wire_call.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"
#include "schemas/json_body.h"

namespace millrace::providers {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 7> kMessageMembers{
    "role", "content", "refusal", "tool_calls", "function_call", "reasoning_content", "reasoning"};

std::string* text_in(json& object, const char* member) {
  const auto found = object.find(member);
  return found == object.end() ? nullptr : found->get_ptr<std::string*>();
}

std::string taken(json& object, const char* member) {
  std::string* text = text_in(object, member);
  return text == nullptr ? std::string() : std::move(*text);
}

// Arguments are JSON text; some say the object itself.
std::string arguments_of(json& function, const char* member) {
  const auto found = function.find(member);
  if (found == function.end() || found->is_null()) return {};
  return found->is_string() ? std::move(found->get_ref<std::string&>()) : schemas::dump(*found);
}

constexpr std::size_t kIdBytes = 12;
std::string minted_id() { return "call_" + base::hex(base::random_bytes(kIdBytes)); }

}  // namespace

base::Error too_many_calls(const Target& target) {
  return fault(target, "sent a choice of more than " + std::to_string(kToolCallsMax) + " tool calls");
}

bool MessageReader::read(json& message, schemas::ChatPiece& piece) {
  if (!message.is_object()) return true;
  if (const auto content = message.find("content"); content != message.end()) read_content(*content, piece);
  if (std::string* refusal = text_in(message, "refusal")) piece.refusal = std::move(*refusal);
  for (const char* member : {"reasoning_content", "reasoning"}) {
    if (std::string* text = text_in(message, member); text != nullptr && piece.reasoning.empty())
      piece.reasoning = std::move(*text);
  }
  if (!read_calls(message, piece)) return false;
  keep_unknown(message, kMessageMembers, piece.extra);
  heard(piece);
  return true;
}

void MessageReader::heard(schemas::ChatPiece& piece) {
  const bool first = !std::exchange(begun_, true);
  if (!first && piece.content == "") piece.content.reset();
  if (!first && piece.refusal == "") piece.refusal.reset();
}

bool MessageReader::read_calls(json& message, schemas::ChatPiece& piece) {
  if (const auto calls = message.find("tool_calls"); calls != message.end() && calls->is_array()) {
    for (json& call : *calls) {
      if (!read_call(call, piece)) return false;
    }
  }
  const auto old = message.find("function_call");
  if (old == message.end() || !old->is_object()) return true;
  json call{{"index", 0}, {"function", std::move(*old)}};
  return read_call(call, piece);
}

// A string, or parts: of text, of thinking (their own text or parts in turn), or others, which are kept.
void MessageReader::read_content(json& content, schemas::ChatPiece& piece) {
  if (auto* text = content.get_ptr<std::string*>()) {
    piece.content = std::move(*text);
    return;
  }
  if (!content.is_array()) return;
  for (json& part : content) {
    if (!part.is_object()) continue;
    const std::string type = part.value("type", json()).is_string() ? taken(part, "type") : std::string();
    if (type == "text") {
      piece.content = piece.content.value_or("") + taken(part, "text");
    } else if (type == "thinking") {
      if (std::string* text = text_in(part, "thinking")) piece.reasoning += *text;
      if (!part["thinking"].is_array()) continue;
      for (json& thought : part["thinking"]) {
        if (thought.is_object()) piece.reasoning += taken(thought, "text");
      }
    } else {
      part["type"] = type;
      piece.extra["content_parts"].push_back(std::move(part));
    }
  }
}

bool MessageReader::read_call(json& call, schemas::ChatPiece& piece) {
  if (!call.is_object()) return true;
  const bool custom = call.contains("custom") && call["custom"].is_object();
  json none = json::object();
  json& function = custom ? call["custom"] : call.contains("function") ? call["function"] : none;
  if (!function.is_object()) return true;
  std::string name = taken(function, "name"), id = taken(call, "id");
  if (id == "null") id.clear();  // Mistral's way to say none
  const std::size_t known = calls_.size();
  const std::size_t at = call_of(call, id, !name.empty());
  if (at >= kToolCallsMax) return false;
  schemas::ToolCallPiece out;
  out.index = static_cast<int>(at);
  out.arguments = arguments_of(function, custom ? "input" : "arguments");
  Call& state = calls_[at];
  if (at == known) {  // new: what identifies it is said once, now
    state.id = id;
    out.id = id.empty() ? minted_id() : std::move(id);
    out.type = custom ? "custom" : "function";
  }
  if (!name.empty() && !std::exchange(state.named, true)) out.name = std::move(name);
  piece.tool_calls.push_back(std::move(out));
  return true;
}

// The place of the call that a piece belongs to. Some upstreams say no index, some say 0 for all, some repeat
// the id: a new id begins a new call, and without an index a name does.
std::size_t MessageReader::call_of(const json& call, const std::string& id, bool has_name) {
  const auto said = call.find("index");
  const std::int64_t index = said != call.end() && said->is_number_integer() ? said->get<std::int64_t>() : -1;
  const auto is_same = [&](const Call& known) {
    if (!id.empty() && !known.id.empty()) return id == known.id;
    if (index >= 0) return known.upstream_index == index;
    return !has_name;
  };
  const auto found = std::find_if(calls_.rbegin(), calls_.rend(), [&](const Call& known) {
    return is_same(known) && (index < 0 || known.upstream_index == index);
  });
  if (found != calls_.rend()) return static_cast<std::size_t>(calls_.rend() - found) - 1;
  calls_.push_back({.upstream_index = index});
  return calls_.size() - 1;
}

}  // namespace millrace::providers

#include <algorithm>
#include <array>
#include <charconv>

#include "platform/base/ids.h"
#include "schemas/chat_reply.h"
#include "schemas/chat_text.h"
#include "schemas/json_body.h"

namespace millrace::schemas {
namespace {

constexpr std::array<std::string_view, 6> kDeltaMembers{"role",       "content",       "refusal",
                                                        "tool_calls", "function_call", "reasoning_content"};
constexpr std::string_view kUsageNull = ",\"usage\":null";
constexpr std::string_view kEventEnd = "}\n\n";
constexpr std::string_view kDone = "data: [DONE]\n\n";
constexpr int kChoicesMax = 128;

void append_number(std::string& out, int value) {
  std::array<char, 12> digits{};
  const auto [end, failed] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  if (failed == std::errc()) out.append(digits.data(), end);
}

// Text of random length: the size of an event says nothing of the size of its delta.
void append_obfuscation(std::string& out) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const std::string random = base::random_bytes(17);
  const auto size = static_cast<std::size_t>(static_cast<unsigned char>(random.front()) % 16 + 1);
  out += ",\"obfuscation\":\"";
  for (char c : std::string_view(random).substr(1, size)) out += kLetters[static_cast<unsigned char>(c) % 64];
  out += '"';
}

// What stands in an object of the form that follows: no comma before the first member.
void separate(std::string& out) {
  if (out.back() != '{') out += ',';
}

void append_first(std::string& out, std::string_view name, std::string_view text) {
  separate(out);
  out.append("\"").append(name).append("\":");
  append_clean(out, text);
}

// A delta that says its role says its content, too: null where it says something else.
void append_role(std::string& out, const ChatPiece& piece) {
  out += "\"role\":\"assistant\"";
  if (piece.content) return;
  const bool other = !piece.tool_calls.empty() || !piece.reasoning.empty() || piece.refusal;
  out += other ? ",\"content\":null" : ",\"content\":\"\"";
}

void append_call(std::string& out, const ToolCallPiece& call, bool custom) {
  out += "{\"index\":";
  append_number(out, call.index);
  if (!call.id.empty()) {
    append_member(out, "id", call.id);
    append_member(out, "type", custom ? "custom" : "function");
  }
  out += custom ? ",\"custom\":{" : ",\"function\":{";
  if (!call.name.empty()) append_first(out, "name", call.name);
  append_first(out, custom ? "input" : "arguments", call.arguments);
  out += "}}";
}

void append_function_call(std::string& out, const std::vector<ToolCallPiece>& calls) {
  const auto first =
      std::find_if(calls.begin(), calls.end(), [](const ToolCallPiece& call) { return call.index == 0; });
  if (first == calls.end()) return;
  separate(out);
  out += "\"function_call\":{";
  if (!first->name.empty()) append_first(out, "name", first->name);
  append_first(out, "arguments", first->arguments);
  out += '}';
}

// Nothing for clients.
bool is_silent(const ChatPiece& piece) {
  return !piece.content && !piece.refusal && piece.reasoning.empty() && piece.tool_calls.empty() &&
         piece.finish_reason.empty() && piece.logprobs.is_null() && !piece.extra.is_object();
}

std::size_t place_of(int choice) { return static_cast<std::size_t>(std::clamp(choice, 0, kChoicesMax - 1)); }

std::size_t room(const ChatPiece& piece) {
  std::size_t bytes = 256 + piece.reasoning.size();
  if (piece.content) bytes += piece.content->size() + piece.content->size() / 8;
  for (const ToolCallPiece& call : piece.tool_calls) bytes += 128 + call.arguments.size() * 5 / 4;
  return bytes;
}

}  // namespace

ChatChunks::ChatChunks(std::string id, std::int64_t created, std::string model, Options options)
    : options_(options) {
  head_ = "data: {\"id\":";
  append_clean(head_, id);
  head_.append(",\"object\":\"chat.completion.chunk\",\"created\":").append(std::to_string(created));
  append_member(head_, "model", model);
  head_ += ",\"choices\":[";
}

bool ChatChunks::has_begun(int choice) const {
  return place_of(choice) < begun_.size() && begun_[place_of(choice)];
}

bool ChatChunks::is_first(int choice) {
  const std::size_t place = place_of(choice);
  if (place >= begun_.size()) begun_.resize(place + 1);
  const bool first = !begun_[place];
  begun_[place] = true;
  return first;
}

bool ChatChunks::is_custom(int choice, const ToolCallPiece& call) {
  const std::pair which(choice, call.index);
  const bool known = std::find(custom_.begin(), custom_.end(), which) != custom_.end();
  if (!known && call.type == "custom") custom_.push_back(which);
  return known || call.type == "custom";
}

void ChatChunks::append_calls(std::string& out, const ChatPiece& piece) {
  if (piece.tool_calls.empty()) return;
  if (options_.old_functions) return append_function_call(out, piece.tool_calls);
  separate(out);
  out += "\"tool_calls\":[";
  for (const ToolCallPiece& call : piece.tool_calls) {
    if (out.back() != '[') out += ',';
    append_call(out, call, is_custom(piece.index, call));
  }
  out += ']';
}

void ChatChunks::append_delta(std::string& out, const ChatPiece& piece) {
  out += "{";
  if (is_first(piece.index)) append_role(out, piece);
  if (piece.content) append_first(out, "content", *piece.content);
  if (piece.refusal) append_first(out, "refusal", *piece.refusal);
  if (!piece.reasoning.empty()) append_first(out, "reasoning_content", piece.reasoning);
  append_calls(out, piece);
  if (piece.extra.is_object()) {
    std::string more;
    append_extra(more, piece.extra, kDeltaMembers);
    if (!more.empty()) out.append(more, out.back() == '{' ? 1 : 0);
  }
  out += '}';
}

void ChatChunks::release(std::string& out) {
  if (held_.empty()) return;
  out.append(held_).append(kEventEnd);
  held_.clear();
}

std::string ChatChunks::piece(const ChatPiece& piece) {
  std::string out;
  if (is_silent(piece) && has_begun(piece.index)) return out;
  out.reserve(held_.size() + head_.size() + room(piece));
  release(out);
  const std::size_t begin = out.size();
  out.append(head_).append("{\"index\":");
  append_number(out, piece.index);
  out += ",\"delta\":";
  append_delta(out, piece);
  out += ",\"logprobs\":";
  out += piece.logprobs.is_null() ? std::string("null") : dump(piece.logprobs);
  out += ",\"finish_reason\":";
  if (piece.finish_reason.empty()) {
    out += "null}]";
  } else {
    append_clean(out, shown_finish(piece.finish_reason, options_.old_functions));
    out += "}]";
  }
  if (options_.include_usage) out += kUsageNull;
  if (options_.include_obfuscation) append_obfuscation(out);
  if (piece.finish_reason.empty()) {
    out += kEventEnd;
  } else {
    held_ = out.substr(begin);
    out.resize(begin);
  }
  return out;
}

std::string ChatChunks::end(const ChatFacts& facts, const ToolReport& tools) {
  std::string last;
  if (options_.usage_with_reason && !options_.include_usage && facts.usage)
    append_usage(last += ",\"usage\":", facts.usage);
  append_facts(last, facts.service_tier, facts.system_fingerprint, facts.extra, tools);
  std::string out;
  if (options_.include_usage) {
    release(out);
    append_usage(out.append(head_).append("],\"usage\":"), facts.usage);
    out.append(last).append(kEventEnd);
  } else if (!held_.empty()) {
    held_ += last;
    release(out);
  } else if (!last.empty()) {
    out.append(head_).append("]").append(last).append(kEventEnd);
  }
  return out.append(kDone);
}

std::string ChatChunks::error(std::string_view body) {
  return std::string("event: error\ndata: ").append(body).append("\n\n");
}

}  // namespace millrace::schemas

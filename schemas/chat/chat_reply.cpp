#include "schemas/chat/chat_reply.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "platform/base/ids.h"
#include "schemas/chat/chat_text.h"
#include "schemas/json/json_body.h"

namespace millrace::schemas {
namespace {

constexpr std::array<std::string_view, 6> kMessageMembers{"role",       "content",       "refusal",
                                                          "tool_calls", "function_call", "reasoning_content"};

constexpr std::array<std::string_view, 5> kCallMembers{"index", "id", "type", "function", "custom"};
constexpr std::array<std::string_view, 3> kFunctionMembers{"name", "arguments", "input"};

// The end of a call, from inside its function.
void append_call_end(std::string& out, const Json& extra) {
  if (extra.is_object() && extra.contains("function"))
    append_extra(out, extra.at("function"), kFunctionMembers);
  out += '}';
  append_extra(out, extra, kCallMembers);
  out += '}';
}

void append_text_or_null(std::string& out, std::string_view name, const std::optional<std::string>& text) {
  if (text) return append_member(out, name, *text);
  out.append(",\"").append(name).append("\":null");
}

void append_call(std::string& out, const ToolCall& call) {
  const bool custom = call.type == "custom";
  out += "{\"id\":";
  append_clean(out, call.id);
  append_member(out, "type", call.type);
  out += custom ? ",\"custom\":{\"name\":" : ",\"function\":{\"name\":";
  append_clean(out, call.name);
  append_member(out, custom ? "input" : "arguments", call.arguments);
  append_call_end(out, call.extra);
}

// The old form supports only one call per choice. The names of the others are in the reply.
void append_dropped_calls(std::string& out, const std::vector<std::string>& names) {
  if (!names.empty()) out.append(",\"dropped_calls\":").append(dump(names));
}

std::vector<std::string> dropped_calls(const ChatReply& reply) {
  std::vector<std::string> names;
  for (const ChatChoice& choice : reply.choices) {
    for (std::size_t i = 1; i < choice.tool_calls.size(); ++i) names.push_back(choice.tool_calls[i].name);
  }
  return names;
}

void append_calls(std::string& out, const std::vector<ToolCall>& calls, bool old_functions) {
  if (calls.empty()) return;
  if (old_functions) {
    out += ",\"function_call\":{\"name\":";
    append_clean(out, calls.front().name);
    append_member(out, "arguments", calls.front().arguments);
    out += '}';
    return;
  }
  out += ",\"tool_calls\":[";
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (i > 0) out += ',';
    append_call(out, calls[i]);
  }
  out += ']';
}

void append_choice(std::string& out, const ChatChoice& choice, bool old_functions) {
  out.append("{\"index\":").append(std::to_string(choice.index));
  out += ",\"message\":{\"role\":\"assistant\"";
  append_text_or_null(out, "content", choice.content);
  append_text_or_null(out, "refusal", choice.refusal);
  if (!choice.reasoning.empty()) append_member(out, "reasoning_content", choice.reasoning);
  append_calls(out, choice.tool_calls, old_functions);
  append_extra(out, choice.extra, kMessageMembers);
  out.append("},\"logprobs\":").append(choice.logprobs.is_null() ? "null" : dump(choice.logprobs));
  out.append(",\"finish_reason\":");
  if (choice.finish_reason.empty()) {
    out += "null}";
  } else {
    append_clean(out, shown_finish(choice.finish_reason, old_functions));
    out += '}';
  }
}

void add_count(std::optional<std::int64_t>& to, const std::optional<std::int64_t>& count) {
  if (count) to = to.value_or(0) + *count;
}

// Than its content and refusal.
bool has_no_more(const ChatPiece& piece) {
  return piece.reasoning.empty() && piece.tool_calls.empty() && piece.finish_reason.empty() &&
         piece.logprobs.is_null() && piece.extra.is_null() && piece.reasoning_state.empty();
}

void keep_larger(std::optional<std::int64_t>& to, const std::optional<std::int64_t>& count) {
  if (count) to = std::max(to.value_or(0), *count);
}

}  // namespace

bool is_empty(const ChatPiece& piece) { return !piece.content && !piece.refusal && has_no_more(piece); }

bool is_blank(const ChatPiece& piece) {
  return (!piece.content || piece.content->empty()) && (!piece.refusal || piece.refusal->empty()) &&
         has_no_more(piece);
}

void add(ChatUsage& to, const ChatUsage& usage) {
  to.prompt += usage.prompt;
  to.completion += usage.completion;
  to.total += usage.total;
  add_count(to.cached, usage.cached);
  add_count(to.cache_write, usage.cache_write);
  add_count(to.reasoning, usage.reasoning);
  add_count(to.prompt_audio, usage.prompt_audio);
  add_count(to.completion_audio, usage.completion_audio);
  add_count(to.accepted_prediction, usage.accepted_prediction);
  add_count(to.rejected_prediction, usage.rejected_prediction);
  to.estimated = to.estimated || usage.estimated;
}

void update(std::optional<ChatUsage>& usage, const std::optional<ChatUsage>& later) {
  if (!later) return;
  if (!usage) {
    usage = later;
    return;
  }
  usage->prompt = std::max(usage->prompt, later->prompt);
  usage->completion = std::max(usage->completion, later->completion);
  usage->total = std::max({usage->total, later->total, usage->prompt + usage->completion});
  keep_larger(usage->cached, later->cached);
  keep_larger(usage->cache_write, later->cache_write);
  keep_larger(usage->reasoning, later->reasoning);
  keep_larger(usage->prompt_audio, later->prompt_audio);
  keep_larger(usage->completion_audio, later->completion_audio);
  keep_larger(usage->accepted_prediction, later->accepted_prediction);
  keep_larger(usage->rejected_prediction, later->rejected_prediction);
  usage->estimated = usage->estimated && later->estimated;
}

std::string chat_completion_json(const ChatReply& reply, bool old_functions) {
  std::size_t estimated_bytes = 512;
  for (const ChatChoice& each : reply.choices)
    estimated_bytes += (each.content ? each.content->size() : 0) + each.reasoning.size() + 256;
  std::string out;
  out.reserve(estimated_bytes + estimated_bytes / 8);
  out += "{\"id\":";
  append_clean(out, reply.id);
  out.append(",\"object\":\"chat.completion\",\"created\":").append(std::to_string(reply.created));
  append_member(out, "model", reply.model);
  out += ",\"choices\":[";
  for (std::size_t i = 0; i < reply.choices.size(); ++i) {
    if (i > 0) out += ',';
    append_choice(out, reply.choices[i], old_functions);
  }
  out += ']';
  if (reply.usage) append_usage(out += ",\"usage\":", reply.usage);
  append_facts(out, reply.service_tier, reply.system_fingerprint, reply.extra, reply.tools);
  if (old_functions) append_dropped_calls(out, dropped_calls(reply));
  out += '}';
  return out;
}

namespace {

ChatChoice& choice_at(std::vector<ChatChoice>& choices, int index) {
  const auto at =
      std::lower_bound(choices.begin(), choices.end(), index,
                       [](const ChatChoice& each, int target_index) { return each.index < target_index; });
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

bool grows(const std::string& name) { return name != "id" && name != "type" && name != "format"; }

void merge(Json& to, const Json& from) {
  for (const auto& [name, value] : from.items()) {
    const auto [at, fresh] = to.emplace(name, value);
    Json& old = at.value();
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

}  // namespace

void merge_members(Json& to, const Json& from) {
  if (!from.is_object()) return;
  if (to.is_null()) to = Json::object();
  if (to.is_object()) merge(to, from);
}

namespace {

// Calls are numbered without gaps: an index above the end becomes the next index.
void add_call(std::vector<ToolCall>& calls, const ToolCallPiece& piece) {
  const auto place = std::min(static_cast<std::size_t>(std::max(piece.index, 0)), calls.size());
  if (place == calls.size()) calls.emplace_back();
  ToolCall& call = calls[place];
  if (!piece.id.empty()) call.id = piece.id;
  if (!piece.type.empty()) call.type = piece.type;
  call.name += piece.name;
  call.arguments += piece.arguments;
  merge_members(call.extra, piece.extra);
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
  replace(choice.reasoning_state, piece.reasoning_state);
  merge_members(choice.logprobs, piece.logprobs);
  merge_members(choice.extra, piece.extra);
}

void ChatAssembly::add(const ChatMetadata& facts) {
  replace(reply_.id, facts.id);
  replace(reply_.model, facts.model);
  replace(reply_.service_tier, facts.service_tier);
  replace(reply_.system_fingerprint, facts.system_fingerprint);
  if (facts.created != 0) reply_.created = facts.created;
  if (facts.usage) reply_.usage = facts.usage;
  merge_members(reply_.extra, facts.extra);
}

ChatReply ChatAssembly::take() { return std::exchange(reply_, ChatReply{}); }

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

// Appends text of random length, so that the size of an event does not reveal the size of its delta.
void append_obfuscation(std::string& out) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const std::string random = base::random_bytes(17);
  const auto size = static_cast<std::size_t>(static_cast<unsigned char>(random.front()) % 16 + 1);
  out += ",\"obfuscation\":\"";
  for (char c : std::string_view(random).substr(1, size)) out += kLetters[static_cast<unsigned char>(c) % 64];
  out += '"';
}

// Appends a comma unless it would precede the first member of an object.
void separate(std::string& out) {
  if (out.back() != '{') out += ',';
}

void append_first(std::string& out, std::string_view name, std::string_view text) {
  separate(out);
  out.append("\"").append(name).append("\":");
  append_clean(out, text);
}

// A delta with the role also has content: null if the delta has something else.
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
  append_call_end(out, call.extra);
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

// True: the piece has nothing for clients.
bool is_silent(const ChatPiece& piece) {
  return !piece.content && !piece.refusal && piece.reasoning.empty() && piece.tool_calls.empty() &&
         piece.finish_reason.empty() && piece.logprobs.is_null() && !piece.extra.is_object();
}

std::size_t place_of(int choice) { return static_cast<std::size_t>(std::clamp(choice, 0, kChoicesMax - 1)); }

std::size_t estimated_bytes(const ChatPiece& piece) {
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
  if (options_.old_functions) {
    for (const ToolCallPiece& call : piece.tool_calls)
      if (call.index > 0) dropped_calls_[{piece.index, call.index}] += call.name;
    return append_function_call(out, piece.tool_calls);
  }
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
  out.reserve(held_.size() + head_.size() + estimated_bytes(piece));
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

std::string ChatChunks::end(const ChatMetadata& facts, const ToolReport& tools) {
  std::string last;
  if (options_.usage_with_reason && !options_.include_usage && facts.usage)
    append_usage(last += ",\"usage\":", facts.usage);
  append_facts(last, facts.service_tier, facts.system_fingerprint, facts.extra, tools);
  std::vector<std::string> dropped;
  for (const auto& [place, name] : dropped_calls_) dropped.push_back(name);
  append_dropped_calls(last, dropped);
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

#include "ai/providers/openai_quick.h"

#include <cstring>

#include <simdjson.h>

namespace millrace::providers {
namespace {

namespace dom = simdjson::dom;
using Type = dom::element_type;

constexpr std::size_t kQuickBytesMax = 32u << 10;  // what is longer is read elsewhere, as a tree

// Says nothing, wherever it stands.
bool is_nothing(const dom::element& value) {
  switch (value.type()) {
    case Type::NULL_VALUE:
      return true;
    case Type::ARRAY:
      return value.get_array().value_unsafe().size() == 0;
    case Type::OBJECT:
      return value.get_object().value_unsafe().size() == 0;
    default:
      return false;
  }
}

// All of these: false if the value is another than expected.
bool read_text(const dom::element& value, std::string& to) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return false;
  to = text;
  return true;
}

bool read_text(const dom::element& value, std::optional<std::string>& to) {
  return read_text(value, to.emplace());
}

bool read_count(const dom::element& value, std::int64_t& to) {
  return value.get_int64().get(to) == simdjson::SUCCESS && to >= 0 && to <= kTokenCountMax;
}

bool read_count(const dom::element& value, std::optional<std::int64_t>& to) {
  return read_count(value, to.emplace());
}

bool is_error_word(const dom::element& value) {
  std::string_view text;
  return value.get_string().get(text) != simdjson::SUCCESS || text == "error";
}

// A comparison that the compiler writes out: there are some thirty for each chunk of a stream.
template <std::size_t N>
bool is_name(std::string_view text, const char (&name)[N]) {
  return text.size() == N - 1 && std::memcmp(text.data(), name, N - 1) == 0;
}

// Members that mean something even if they are empty: they are left to the tree then.
bool tells_by_being_there(std::string_view name) {
  return is_name(name, "error") || is_name(name, "usage") || is_name(name, "logprobs") ||
         is_name(name, "function_call");
}

// Calls `read(name, value)` for each member that says something, until one is false.
template <class Read>
bool each_member(const dom::element& of, Read&& read) {
  dom::object object;
  if (of.get_object().get(object) != simdjson::SUCCESS) return false;
  for (const dom::key_value_pair member : object) {
    if (tells_by_being_there(member.key) ? member.value.is_null() : is_nothing(member.value)) continue;
    if (!read(member.key, member.value)) return false;
  }
  return true;
}

bool read_prompt_details(const dom::element& details, schemas::ChatUsage& usage) {
  return each_member(details, [&](std::string_view name, const dom::element& value) {
    if (is_name(name, "cached_tokens")) return read_count(value, usage.cached);
    if (is_name(name, "audio_tokens")) return read_count(value, usage.prompt_audio);
    return true;
  });
}

bool read_completion_details(const dom::element& details, schemas::ChatUsage& usage) {
  return each_member(details, [&](std::string_view name, const dom::element& value) {
    if (is_name(name, "reasoning_tokens")) return read_count(value, usage.reasoning);
    if (is_name(name, "audio_tokens")) return read_count(value, usage.completion_audio);
    if (is_name(name, "accepted_prediction_tokens")) return read_count(value, usage.accepted_prediction);
    if (is_name(name, "rejected_prediction_tokens")) return read_count(value, usage.rejected_prediction);
    return true;
  });
}

// Counts that some say beside the details are left to the tree.
bool read_usage(const dom::element& said, std::optional<schemas::ChatUsage>& to) {
  if (is_nothing(said)) return false;
  schemas::ChatUsage& usage = to.emplace();
  std::optional<std::int64_t> total;
  const bool read = each_member(said, [&](std::string_view name, const dom::element& value) {
    if (is_name(name, "prompt_tokens")) return read_count(value, usage.prompt);
    if (is_name(name, "completion_tokens")) return read_count(value, usage.completion);
    if (is_name(name, "total_tokens")) return read_count(value, total);
    if (is_name(name, "prompt_tokens_details")) return read_prompt_details(value, usage);
    if (is_name(name, "completion_tokens_details")) return read_completion_details(value, usage);
    return !is_name(name, "prompt_cache_hit_tokens") && !is_name(name, "reasoning_tokens");
  });
  usage.total = total.value_or(usage.prompt + usage.completion);
  return read;
}

bool read_message(const dom::element& message, schemas::ChatPiece& piece) {
  return each_member(message, [&](std::string_view name, const dom::element& value) {
    if (is_name(name, "content")) return read_text(value, piece.content);
    if (is_name(name, "role")) return true;
    if (is_name(name, "refusal")) return read_text(value, piece.refusal);
    return is_name(name, "reasoning_content") && read_text(value, piece.reasoning);
  });
}

bool read_choice(const dom::element& choice, QuickReply& out) {
  return each_member(choice, [&](std::string_view name, const dom::element& value) {
    if (is_name(name, "delta") || is_name(name, "message")) return read_message(value, out.piece);
    if (is_name(name, "index")) return read_count(value, out.index);
    return is_name(name, "finish_reason") && read_text(value, out.finish_word);
  });
}

bool read_choices(const dom::element& choices, QuickReply& out) {
  dom::array all;
  if (out.has_choice || choices.get_array().get(all) != simdjson::SUCCESS || all.size() != 1) return false;
  out.has_choice = true;
  return read_choice(*all.begin(), out);
}

bool read_reply(const dom::element& reply, QuickReply& out) {
  return each_member(reply, [&](std::string_view name, const dom::element& value) {
    if (is_name(name, "id")) return read_text(value, out.facts.id);
    if (is_name(name, "choices")) return read_choices(value, out);
    if (is_name(name, "model")) return read_text(value, out.facts.model);
    if (is_name(name, "created")) return read_count(value, out.facts.created);
    if (is_name(name, "usage")) return read_usage(value, out.facts.usage);
    if (is_name(name, "service_tier")) return read_text(value, out.facts.service_tier);
    if (is_name(name, "system_fingerprint")) return read_text(value, out.facts.system_fingerprint);
    if (is_name(name, "object")) return !is_error_word(value);
    return is_name(name, "obfuscation") || is_name(name, "p");
  });
}

// Halves of their pairs are not looked at closely enough here.
bool may_have_surrogates(std::string_view json) {
  return json.find('\\') != std::string_view::npos &&
         (json.find("\\ud") != std::string_view::npos || json.find("\\uD") != std::string_view::npos);
}

}  // namespace

std::optional<QuickReply> quick_reply(std::string_view json) {
  if (json.size() > kQuickBytesMax || may_have_surrogates(json)) return std::nullopt;
  thread_local dom::parser parser;
  dom::element root;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS) return std::nullopt;
  std::optional<QuickReply> out(std::in_place);
  if (!read_reply(root, *out)) out.reset();
  return out;
}

}  // namespace millrace::providers

#include "ai/providers/openai/stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <simdjson.h>

#include "ai/providers/json_access.h"
#include "ai/providers/openai/reply.h"
#include "ai/providers/upstream_error.h"
#include "ai/providers/wire_text.h"

namespace millrace::providers {
namespace {

namespace dom = simdjson::dom;
using Type = dom::element_type;

constexpr std::size_t kQuickBytesMax = 32u << 10;  // longer text is parsed into a tree

// True for values without content, which can be ignored in any member.
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

// The read functions return false if the value does not have the expected form.
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

// A comparison that the compiler inlines: each chunk of a stream needs some thirty of them.
template <std::size_t N>
bool is_name(std::string_view text, const char (&name)[N]) {
  return text.size() == N - 1 && std::memcmp(text.data(), name, N - 1) == 0;
}

// Members that have a meaning even if they are empty. Text with them is parsed into a tree.
bool implied_by_presence(std::string_view name) {
  return is_name(name, "error") || is_name(name, "usage") || is_name(name, "logprobs") ||
         is_name(name, "function_call");
}

// Calls `read(name, value)` for each member with content, until one call returns false.
template <class Read>
bool each_member(const dom::element& of, Read&& read) {
  dom::object object;
  if (of.get_object().get(object) != simdjson::SUCCESS) return false;
  for (const dom::key_value_pair member : object) {
    if (implied_by_presence(member.key) ? member.value.is_null() : is_nothing(member.value)) continue;
    if (!read(member.key, member.value)) return false;
  }
  return true;
}

bool read_prompt_details(const dom::element& details, schemas::ChatUsage& usage) {
  return each_member(details, [&](std::string_view name, const dom::element& value) {
    if (is_name(name, "cached_tokens")) return read_count(value, usage.cached);
    if (is_name(name, "cache_creation_tokens")) return read_count(value, usage.cache_write);
    if (is_name(name, "cache_write_tokens")) return usage.cache_write || read_count(value, usage.cache_write);
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

// Usage with counts that some upstreams put outside the details is parsed into a tree.
bool read_usage(const dom::element& reported, std::optional<schemas::ChatUsage>& to) {
  if (is_nothing(reported)) return false;
  schemas::ChatUsage& usage = to.emplace();
  std::optional<std::int64_t> total;
  const bool read = each_member(reported, [&](std::string_view name, const dom::element& value) {
    if (is_name(name, "prompt_tokens")) return read_count(value, usage.prompt);
    if (is_name(name, "completion_tokens")) return read_count(value, usage.completion);
    if (is_name(name, "total_tokens")) return read_count(value, total);
    if (is_name(name, "prompt_tokens_details")) return read_prompt_details(value, usage);
    if (is_name(name, "completion_tokens_details")) return read_completion_details(value, usage);
    return !is_name(name, "prompt_cache_hit_tokens") && !is_name(name, "reasoning_tokens") &&
           !is_name(name, "cache_creation_input_tokens");
  });
  usage.total = total.value_or(usage.prompt + usage.completion);
  include_reasoning(usage);
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
    return is_name(name, "finish_reason") && read_text(value, out.upstream_finish_reason);
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

// The fast parser does not check surrogate pairs strictly enough.
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

namespace {

constexpr int kChoicesMax = 128;

base::Error too_many_choices(const Target& target) {
  return content_fault(target,
                       "sent a choice beyond the limit of " + std::to_string(kChoicesMax) + " choices");
}

// Keeps the first value of each fact, and the larger of each count of usage.
void add_facts(schemas::ChatMetadata&& newer, schemas::ChatMetadata& facts) {
  const auto keep = [](std::string& from, std::string& to) {
    if (to.empty()) to = std::move(from);
  };
  keep(newer.id, facts.id);
  keep(newer.model, facts.model);
  keep(newer.service_tier, facts.service_tier);
  keep(newer.system_fingerprint, facts.system_fingerprint);
  if (facts.created == 0) facts.created = newer.created;
  schemas::update(facts.usage, newer.usage);
}

}  // namespace

base::Status OpenaiStream::read(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out) {
  if (done_) return {};
  if (is_end_marker(event.data)) {
    if (choices_.empty()) return fault(target_, "ended its stream without a choice");
    done_ = true;
    end(out);
    return {};
  }
  if (event.data.empty()) return {};
  if (event.event != "error") {
    if (auto quick = quick_reply(event.data)) return take(*std::move(quick), out);
  }
  return read_tree(event, out);
}

base::Status OpenaiStream::take(QuickReply&& quick, std::vector<schemas::ChatPiece>& out) {
  add_facts(std::move(quick.facts), facts_);
  if (quick.has_choice) {
    quick.piece.index = static_cast<int>(std::clamp<std::int64_t>(quick.index, 0, kChoicesMax));
    if (quick.piece.index == kChoicesMax) return too_many_choices(target_);
    Choice& choice = choices_[quick.piece.index];
    choice.reader.note_piece(quick.piece);
    choice.reader.keep_reasoning(quick.piece.reasoning);
    add(choice, std::move(quick.piece), out);
    return keep_reason(choice, quick.upstream_finish_reason);
  }
  return {};
}

base::Status OpenaiStream::read_tree(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out) {
  std::optional<Json> parsed = parse_wire(event.data);
  const bool is_object = parsed && parsed->is_object();
  if (event.event == "error" && !is_object) return stream_error(target_, 0, upstream_text(event.data));
  if (!parsed) return unreadable(target_, event.data);
  if (!is_object) return not_a_reply(target_);
  Json& chunk = *parsed;
  auto error = reported_instead(target_, chunk);
  read_facts(chunk, facts_);
  if (error) return *std::move(error);
  if (event.event == "error") return *reported_instead(target_, {{"error", *parse_wire(event.data)}});
  if (const auto choices = chunk.find("choices"); choices != chunk.end() && choices->is_array()) {
    for (Json& node : *choices) {
      if (base::Status status = read_choice(node, out); !status) return status;
    }
  }
  return {};
}

base::Status OpenaiStream::read_choice(Json& node, std::vector<schemas::ChatPiece>& out) {
  if (!node.is_object()) return {};
  if (auto error = reported_instead(target_, node)) return *std::move(error);
  schemas::ChatPiece piece;
  const auto index = node.find("index");
  if (index != node.end() && index->is_number_integer()) piece.index = index->get<int>();
  if (piece.index < 0 || piece.index >= kChoicesMax) return too_many_choices(target_);
  Choice& choice = choices_[piece.index];
  for (const char* form : {"delta", "message"}) {
    const auto message = node.find(form);
    if (message != node.end() && !choice.reader.read(*message, piece)) return too_many_calls(target_);
  }
  if (const auto logprobs = node.find("logprobs"); logprobs != node.end() && !logprobs->is_null())
    piece.logprobs = std::move(*logprobs);
  keep_unknown(node, kChoiceMembers, piece.extra);
  add(choice, std::move(piece), out);
  const auto reason = node.find("finish_reason");
  const bool has_reason = reason != node.end() && reason->is_string();
  return has_reason ? keep_reason(choice, reason->get_ref<const std::string&>()) : base::Status();
}

void OpenaiStream::add(Choice& choice, schemas::ChatPiece&& piece, std::vector<schemas::ChatPiece>& out) {
  const bool has_text = piece.content || piece.refusal || !piece.reasoning.empty();
  continued_ = continued_ || (choice.finished && (has_text || !piece.tool_calls.empty()));
  if (!std::exchange(choice.begun, true) || !is_empty(piece)) out.push_back(std::move(piece));
}

// `word`: the finish reason; empty: the choice has not ended. Some upstreams send one with each chunk, so it
// is sent at the end of the stream. A word that means more than "stop" counts.
base::Status OpenaiStream::keep_reason(Choice& choice, const std::string& word) const {
  if (word.empty()) return {};
  const std::string reason = openai_finish_reason(word, false);
  if (reason.empty()) return openai_failure(target_, word);
  if (!std::exchange(choice.finished, true) || openai_finish_reason(choice.reason, false) == "stop")
    choice.reason = word;
  return {};
}

// Also ends choices for which the upstream sent no finish reason.
void OpenaiStream::end(std::vector<schemas::ChatPiece>& out) {
  if (std::exchange(ended_, true)) return;
  for (auto& [index, choice] : choices_) {
    schemas::ChatPiece piece;
    piece.index = index;
    choice.reader.release_calls(piece);
    piece.finish_reason = openai_finish_reason(choice.reason, choice.reader.has_calls());
    if (piece.finish_reason == "tool_calls") choice.reader.complete_calls(piece);
    piece.reasoning_state = choice.reader.take_state(target_);
    choice.finished = true;
    out.push_back(std::move(piece));
  }
}

bool OpenaiStream::complete(int choices) const {
  const bool all_begun = !choices_.empty() && choices_.size() >= static_cast<std::size_t>(choices);
  return done_ ||
         (all_begun && std::ranges::all_of(choices_, [](const auto& at) { return at.second.finished; }));
}

bool is_end_marker(std::string_view data) {
  const std::size_t begin = data.find_first_not_of(" \t");
  return begin != std::string_view::npos &&
         data.substr(begin, data.find_last_not_of(" \t") + 1 - begin) == "[DONE]";
}

std::unique_ptr<StreamReader> openai_stream(const Target& target) {
  return std::make_unique<OpenaiStream>(target);
}

}  // namespace millrace::providers

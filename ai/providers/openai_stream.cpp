#include "ai/providers/openai_stream.h"

#include <algorithm>
#include <utility>

#include "ai/providers/json_access.h"
#include "ai/providers/openai_quick.h"
#include "ai/providers/openai_reply.h"
#include "ai/providers/upstream_words.h"
#include "ai/providers/wire_words.h"

namespace millrace::providers {
namespace {

constexpr int kChoicesMax = 128;

bool says_something(const schemas::ChatPiece& piece) {
  return piece.content || piece.refusal || !piece.reasoning.empty() || !piece.tool_calls.empty() ||
         !piece.finish_reason.empty() || !piece.logprobs.is_null() || !piece.extra.is_null();
}

base::Error too_many_choices(const Target& target) {
  return base::error(base::Code::kUpstream, std::string(shown_name(target))
                                                .append(" sent a choice past the ")
                                                .append(std::to_string(kChoicesMax))
                                                .append(" that there may be"));
}

// What was said first stays; usage is the newest.
void add_facts(schemas::ChatFacts&& said, schemas::ChatFacts& facts) {
  const auto keep = [](std::string& from, std::string& to) {
    if (to.empty()) to = std::move(from);
  };
  keep(said.id, facts.id);
  keep(said.model, facts.model);
  keep(said.service_tier, facts.service_tier);
  keep(said.system_fingerprint, facts.system_fingerprint);
  if (facts.created == 0) facts.created = said.created;
  if (said.usage) facts.usage = said.usage;
}

}  // namespace

base::Status OpenaiStream::read(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out) {
  if (done_) return {};
  if (event.data == "[DONE]") return end(out);
  if (event.data.empty()) return {};
  if (event.event != "error") {
    if (auto quick = quick_reply(event.data)) return take(*std::move(quick), out);
  }
  return read_tree(event, out);
}

base::Status OpenaiStream::take(QuickReply&& said, std::vector<schemas::ChatPiece>& out) {
  if (said.has_choice) {
    said.piece.index = static_cast<int>(std::clamp<std::int64_t>(said.index, 0, kChoicesMax));
    if (said.piece.index == kChoicesMax) return too_many_choices(target_);
    Choice& choice = choices_[said.piece.index];
    choice.reader.heard(said.piece);
    if (base::Status ended = end_choice(choice, said.finish_word, said.piece); !ended) return ended;
    if (!std::exchange(choice.begun, true) || says_something(said.piece))
      out.push_back(std::move(said.piece));
  }
  add_facts(std::move(said.facts), facts_);
  return {};
}

base::Status OpenaiStream::read_tree(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out) {
  std::optional<Json> parsed = parse_wire(event.data);
  const bool is_object = parsed && parsed->is_object();
  if (event.event == "error" && !is_object) return stream_error(target_, 0, upstream_words(event.data));
  if (!is_object) return not_a_reply(target_);
  Json& chunk = *parsed;
  if (auto error = said_instead(target_, chunk)) return *std::move(error);
  if (event.event == "error") return stream_error(target_, 0, openai_error_message(event.data));
  if (const auto choices = chunk.find("choices"); choices != chunk.end() && choices->is_array()) {
    for (Json& said : *choices) {
      if (base::Status status = read_choice(said, out); !status) return status;
    }
  }
  read_facts(chunk, facts_);
  return {};
}

base::Status OpenaiStream::read_choice(Json& said, std::vector<schemas::ChatPiece>& out) {
  if (!said.is_object()) return {};
  schemas::ChatPiece piece;
  const auto index = said.find("index");
  if (index != said.end() && index->is_number_integer()) piece.index = index->get<int>();
  if (piece.index < 0 || piece.index >= kChoicesMax) return too_many_choices(target_);
  Choice& choice = choices_[piece.index];
  for (const char* form : {"delta", "message"}) {
    const auto message = said.find(form);
    if (message != said.end() && !choice.reader.read(*message, piece)) return too_many_calls(target_);
  }
  if (const auto logprobs = said.find("logprobs"); logprobs != said.end() && !logprobs->is_null())
    piece.logprobs = std::move(*logprobs);
  const auto reason = said.find("finish_reason");
  if (reason != said.end() && reason->is_string()) {
    if (base::Status ended = end_choice(choice, reason->get_ref<const std::string&>(), piece); !ended)
      return ended;
  }
  keep_unknown(said, kChoiceMembers, piece.extra);
  if (!std::exchange(choice.begun, true) || says_something(piece)) out.push_back(std::move(piece));
  return {};
}

// `word`: why it has ended; empty: it has not.
base::Status OpenaiStream::end_choice(Choice& choice, const std::string& word, schemas::ChatPiece& piece) {
  if (word.empty()) return {};
  piece.finish_reason = openai_finish_reason(word, choice.reader.has_calls());
  if (piece.finish_reason.empty()) return stream_error(target_, 0, "finish_reason " + upstream_words(word));
  if (std::exchange(choice.finished, true)) piece.finish_reason.clear();
  return {};
}

// A choice whose upstream forgot to say why it ended has ended nevertheless.
base::Status OpenaiStream::end(std::vector<schemas::ChatPiece>& out) {
  if (choices_.empty()) {
    return base::error(base::Code::kUpstream,
                       std::string(shown_name(target_)).append(" ended its stream without a choice"));
  }
  done_ = true;
  for (auto& [index, choice] : choices_) {
    if (std::exchange(choice.finished, true)) continue;
    schemas::ChatPiece piece;
    piece.index = index;
    piece.finish_reason = openai_finish_reason("stop", choice.reader.has_calls());
    out.push_back(std::move(piece));
  }
  return {};
}

bool OpenaiStream::complete(int choices) const {
  const bool all_begun = !choices_.empty() && choices_.size() >= static_cast<std::size_t>(choices);
  return done_ ||
         (all_begun && std::ranges::all_of(choices_, [](const auto& at) { return at.second.finished; }));
}

}  // namespace millrace::providers

#include "ai/providers/gemini/reply.h"

#include <map>

#include "ai/providers/gemini/candidate.h"
#include "ai/providers/upstream_error.h"
#include "ai/providers/wire_text.h"

namespace millrace::providers {
namespace {

// Converts the single piece of a whole answer into a choice.
schemas::ChatChoice whole(schemas::ChatPiece&& piece) {
  schemas::ChatChoice choice;
  choice.index = piece.index;
  choice.content = std::move(piece.content);
  choice.refusal = std::move(piece.refusal);
  choice.reasoning = std::move(piece.reasoning);
  for (schemas::ToolCallPiece& call : piece.tool_calls) {
    choice.tool_calls.push_back(
        {std::move(call.id), std::move(call.type), std::move(call.name), std::move(call.arguments)});
  }
  choice.finish_reason = std::move(piece.finish_reason);
  choice.logprobs = std::move(piece.logprobs);
  choice.extra = std::move(piece.extra);
  choice.reasoning_state = std::move(piece.reasoning_state);
  return choice;
}

base::Status read_choices(const Target& target, const Json& answer, schemas::ChatReply& reply) {
  const Json* candidates = member(answer, "candidates");
  if (candidates == nullptr || !candidates->is_array()) return {};
  for (const Json& candidate : *candidates) {
    schemas::ChatPiece piece;
    GeminiCandidate reader(static_cast<int>(reply.choices.size()));
    if (base::Result<bool> read = reader.read(target, candidate, piece); !read) return read.error();
    reader.end(piece);
    if (piece.finish_reason.empty()) piece.finish_reason = piece.tool_calls.empty() ? "stop" : "tool_calls";
    reply.choices.push_back(whole(std::move(piece)));
  }
  return {};
}

}  // namespace

void take_gemini_facts(const Json& answer, schemas::ChatMetadata& facts) {
  if (const std::string_view id = text_of(answer, "responseId"); !id.empty()) facts.id = id;
  if (const std::string_view model = text_of(answer, "modelVersion"); !model.empty()) facts.model = model;
  const Json* usage = member(answer, "usageMetadata");
  schemas::update(facts.usage, gemini_usage(usage));
  const Json* tier = member(usage, "serviceTier");
  if (!text_of(tier).empty()) facts.service_tier = service_tier_value(text_of(tier));
}

base::Result<schemas::ChatReply> gemini_reply(const Target& target, std::string_view body) {
  const std::optional<Json> answer = parse_wire(body);
  if (!answer) return unreadable(target, body);
  if (const Json* error = gemini_error_of(*answer)) return gemini_error(target, *error);

  schemas::ChatReply reply;
  if (base::Status read = read_choices(target, *answer, reply); !read) return read.error();
  const Json* feedback = member(*answer, "promptFeedback");
  if (reply.choices.empty() && member(feedback, "blockReason") != nullptr) {
    reply.choices.push_back(whole(gemini_blocked(*feedback)));
  }
  if (reply.choices.empty())
    return answer->is_object() ? content_fault(target, "answered without a candidate") : not_a_reply(target);
  schemas::ChatMetadata facts;
  take_gemini_facts(*answer, facts);
  reply.id = std::move(facts.id);
  reply.model = std::move(facts.model);
  reply.usage = facts.usage;
  reply.service_tier = std::move(facts.service_tier);
  return reply;
}

namespace {

class GeminiStream final : public StreamReader {
 public:
  explicit GeminiStream(const Target& target) : target_(target) {}

  base::Status read(const net::SseEvent& event, std::vector<schemas::ChatPiece>& out) override {
    const std::optional<Json> answer = parse_wire(event.data);
    if (!answer) return unreadable(target_, event.data);
    if (const Json* error = gemini_error_of(*answer)) return gemini_error(target_, *error);
    if (!answer->is_object()) return not_a_reply(target_);
    take_gemini_facts(*answer, facts_);
    if (const Json* candidates = member(*answer, "candidates");
        candidates != nullptr && candidates->is_array()) {
      for (const Json& candidate : *candidates) {
        if (base::Status read = read_candidate(candidate, out); !read) return read;
      }
    }
    const Json* feedback = member(*answer, "promptFeedback");
    if (candidates_.empty() && member(feedback, "blockReason") != nullptr && !blocked_) {
      blocked_ = true;
      out.push_back(gemini_blocked(*feedback));
    }
    return {};
  }

  bool complete(int choices) const override {
    const bool all_begun = !candidates_.empty() && candidates_.size() >= static_cast<std::size_t>(choices);
    bool all = blocked_ || all_begun;
    for (const auto& [index, candidate] : candidates_) all = all && candidate.finished();
    return all;
  }

  bool is_continued() const override { return continued_; }
  bool has_end_marker() const override { return false; }

  void end(std::vector<schemas::ChatPiece>& out) override {
    for (auto& [index, candidate] : candidates_) {
      if (candidate.finished()) candidate.end(out.emplace_back());
    }
  }

  const schemas::ChatMetadata& facts() const override { return facts_; }

 private:
  base::Status read_candidate(const Json& candidate, std::vector<schemas::ChatPiece>& out) {
    const std::int64_t index = integer_of(candidate, "index").value_or(0);
    if (index < 0 || index >= kGeminiCandidatesMax)
      return content_fault(target_, "sent a candidate beyond the limit of " +
                                        std::to_string(kGeminiCandidatesMax) + " candidates");
    const int choice = static_cast<int>(index);
    GeminiCandidate& reader = candidates_.try_emplace(choice, choice).first->second;
    schemas::ChatPiece piece;
    const bool was_finished = reader.finished();
    const base::Result<bool> is_new = reader.read(target_, candidate, piece);
    if (!is_new) return is_new.error();
    continued_ = continued_ || (was_finished && *is_new);
    if (*is_new) out.push_back(std::move(piece));
    return {};
  }

  const Target& target_;
  std::map<int, GeminiCandidate> candidates_;
  schemas::ChatMetadata facts_;
  bool blocked_ = false, continued_ = false;
};

}  // namespace

std::unique_ptr<StreamReader> gemini_stream(const Target& target) {
  return std::make_unique<GeminiStream>(target);
}

std::optional<schemas::ChatUsage> gemini_reply_usage(const Json& reply) {
  return gemini_usage(member(reply, "usageMetadata"));
}

std::string gemini_error_message(std::string_view body) {
  const std::optional<Json> node = parse_wire(body);
  const Json* error = node ? gemini_error_of(*node) : nullptr;
  return error != nullptr ? upstream_text(text_of(*error, "message")) : std::string();
}

}  // namespace millrace::providers

#include "ai/providers/gemini_reply.h"

#include "ai/providers/gemini_candidate.h"
#include "ai/providers/wire_words.h"

namespace millrace::providers {
namespace {

// A whole answer's piece is its choice.
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
  choice.continuity = std::move(piece.continuity);
  return choice;
}

base::Status read_choices(const Target& target, const Json& answer, schemas::ChatReply& reply) {
  const Json* candidates = member(answer, "candidates");
  if (candidates == nullptr || !candidates->is_array()) return {};
  for (const Json& candidate : *candidates) {
    schemas::ChatPiece piece;
    GeminiCandidate reader(static_cast<int>(reply.choices.size()));
    if (base::Result<bool> read = reader.read(target, candidate, piece); !read) return read.error();
    if (piece.finish_reason.empty()) piece.finish_reason = piece.tool_calls.empty() ? "stop" : "tool_calls";
    reply.choices.push_back(whole(std::move(piece)));
  }
  return {};
}

}  // namespace

void take_gemini_facts(const Json& answer, schemas::ChatFacts& facts) {
  if (const std::string_view id = text_of(answer, "responseId"); !id.empty()) facts.id = id;
  if (const std::string_view model = text_of(answer, "modelVersion"); !model.empty()) facts.model = model;
  const Json* usage = member(answer, "usageMetadata");
  if (auto counted = gemini_usage(usage)) facts.usage = counted;
  const Json* tier = member(usage, "serviceTier");
  if (!text_of(tier).empty()) facts.service_tier = service_tier_word(text_of(tier));
}

base::Result<schemas::ChatReply> gemini_reply(const Target& target, std::string_view body) {
  const std::optional<Json> answer = parse_wire(body);
  if (!answer) return not_a_reply(target);
  if (const Json* error = gemini_error_of(*answer)) return gemini_error(target, *error);

  schemas::ChatReply reply;
  if (base::Status read = read_choices(target, *answer, reply); !read) return read.error();
  const Json* feedback = member(*answer, "promptFeedback");
  if (reply.choices.empty() && member(feedback, "blockReason") != nullptr) {
    reply.choices.push_back(whole(gemini_blocked(*feedback)));
  }
  if (reply.choices.empty()) return not_a_reply(target);
  schemas::ChatFacts facts;
  take_gemini_facts(*answer, facts);
  reply.id = std::move(facts.id);
  reply.model = std::move(facts.model);
  reply.usage = facts.usage;
  reply.service_tier = std::move(facts.service_tier);
  return reply;
}

}  // namespace millrace::providers

#pragma once
#include "ai/inference/routing/registry.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::inference {

// US dollars. Prompt tokens include cached tokens; completion tokens include reasoning tokens.
double cost_of(const Price& price, const schemas::ChatUsage& usage);

// The usage to assume if an upstream reports none. Both counts are estimated from the texts.
schemas::ChatUsage estimated_usage(std::int64_t prompt_tokens, std::int64_t completion_tokens);
// Estimates the prompt tokens from the texts in the messages. A part that is not text counts as kPartTokens.
inline constexpr std::int64_t kPartTokens = 800;
std::int64_t estimated_prompt(const schemas::ChatRequest& request);

// Estimates the completion tokens of an answer, piece by piece or as a whole.
std::int64_t estimated_completion(const schemas::ChatPiece& piece);
std::int64_t estimated_completion(const schemas::ChatReply& reply);

}  // namespace millrace::inference

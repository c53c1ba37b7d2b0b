#pragma once
#include "ai/inference/routing/registry.h"
#include "schemas/chat/chat_reply.h"

namespace millrace::inference {

// US dollars. Cached prompt tokens are part of the prompt's, reasoning tokens of the completion's.
double cost_of(const Price& price, const schemas::ChatUsage& usage);

// What an upstream that gave no usage is taken to have used: both counted from the texts.
schemas::ChatUsage estimated_usage(std::int64_t prompt_tokens, std::int64_t completion_tokens);
// Of the texts in the request's messages; a part that is no text counts as kPartTokens.
inline constexpr std::int64_t kPartTokens = 800;
std::int64_t estimated_prompt(const schemas::ChatRequest& request);

// Counts what an answer says, piece by piece or whole.
std::int64_t estimated_completion(const schemas::ChatPiece& piece);
std::int64_t estimated_completion(const schemas::ChatReply& reply);

}  // namespace millrace::inference

#pragma once
#include "ai/providers/media.h"

namespace millrace::providers {

inline constexpr std::size_t kGeminiBatchMax = 100;  // inputs of one batchEmbedContents

WireRequest gemini_embedding_request(const Target& target, const EmbeddingPart& part);
base::Result<schemas::EmbeddingReply> gemini_embedding_reply(const Target& target, std::string_view body,
                                                             std::size_t inputs);

}  // namespace millrace::providers

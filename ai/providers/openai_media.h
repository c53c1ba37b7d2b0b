#pragma once
#include "ai/providers/media.h"

namespace millrace::providers {

WireRequest openai_embedding_request(const Target& target, const EmbeddingPart& part);
base::Result<schemas::EmbeddingReply> openai_embedding_reply(const Target& target, std::string_view body,
                                                             std::size_t inputs);

}  // namespace millrace::providers

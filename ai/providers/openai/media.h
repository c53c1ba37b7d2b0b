#pragma once
#include "ai/providers/media.h"

namespace millrace::providers {

WireRequest openai_embedding_request(const Target& target, const EmbeddingPart& part);
base::Result<schemas::EmbeddingReply> openai_embedding_reply(const Target& target, std::string_view body,
                                                             std::size_t inputs);

// …/images/generations, as published by OpenAI and implemented by others.
int openai_image_calls(const Target& target, const schemas::ImageRequest& request);
WireRequest openai_image_request(const Target& target, const schemas::ImageRequest& request);
base::Result<schemas::ImageReply> openai_image_reply(const Target& target, std::string_view body);

}  // namespace millrace::providers

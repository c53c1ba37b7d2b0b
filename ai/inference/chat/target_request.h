#pragma once
#include <cstddef>

#include "ai/inference/schema/reply_schema.h"
#include "ai/providers/provider.h"

// A request as one target gets it, and what the gateway therefore checks in the answer.
namespace millrace::inference {

// kInternal: the translation has a fault, which fails the request and not the process.
base::Result<providers::WireRequest> translated(const providers::Target& target,
                                                const schemas::ChatRequest& request, bool stream);

// Strict schemas, and those that the provider got without some of their demands.
ReplySchema::Parts checked_parts(const ReplySchema& schema, const providers::WireRequest& wire);

// Bytes of an answer that are checked.
std::size_t checked_bytes(const schemas::ChatReply& reply);
std::size_t checked_bytes(const schemas::ChatPiece& piece);

}  // namespace millrace::inference

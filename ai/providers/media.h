#pragma once
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"
#include "schemas/chat/embedding.h"
#include "schemas/media/image.h"

// Embeddings and images: which APIs support them, and the translations by family. Pure functions,
// thread-safe.
namespace millrace::providers {

// nullopt: the provider's API supports them.
std::optional<base::Error> no_embeddings(const Target& target);
// True: it accepts lists of tokens; false: only texts.
bool supports_token_input(const Target& target);
std::size_t embedding_batch_max(const Target& target);  // inputs of one call

// The inputs of a request that one call handles.
struct EmbeddingPart {
  const schemas::EmbeddingRequest& request;
  std::size_t first = 0, count = 0;
};

// REQUIRES: no_embeddings(target) is nullopt; kMock has no wire request.
base::Result<WireRequest> embedding_request(const Target& target, const EmbeddingPart& part);
// kUpstream: `body` is not a reply, or does not have one vector for each input. Token counts of 0 were not
// reported.
base::Result<schemas::EmbeddingReply> embedding_reply(const Target& target, std::string_view body,
                                                      std::size_t inputs);

std::optional<base::Error> no_images(const Target& target);
// The number of calls for the images of a request: one per image if a call returns only one image.
int image_calls(const Target& target, const schemas::ImageRequest& request);
// REQUIRES: no_images(target) is nullopt; kMock has no wire request. `call`: index of the call, from 0.
WireRequest image_request(const Target& target, const schemas::ImageRequest& request, int call = 0);
// kUpstream: `body` is not a reply or has no image. kBadRequest: a filter of the provider refused.
base::Result<schemas::ImageReply> image_reply(const Target& target, std::string_view body);
// Reads an event of a stream; nullopt: it has no image. An error reported in the event is returned.
base::Result<std::optional<schemas::ImageEvent>> image_event(const Target& target,
                                                             const net::SseEvent& event);

// A reply with embeddings, parsed without a JSON tree of its numbers. Each list that is the member `name` of
// an object is in `vectors`, in document order, and is an empty list in `rest`.
struct ReadVectors {
  Json rest;
  std::vector<schemas::Vector> vectors;
};
// nullopt: not a JSON object, deeper than kWireDepthMax, or such a list has an element that is not a finite
// number.
std::optional<ReadVectors> read_vectors(std::string_view body, std::string_view name);

}  // namespace millrace::providers

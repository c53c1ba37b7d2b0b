#pragma once
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "ai/providers/json_access.h"
#include "ai/providers/provider.h"
#include "schemas/chat/embedding.h"
#include "schemas/media/image.h"

// Embeddings and images: whose API has them, and the translations by family. Pure functions, thread-safe.
namespace millrace::providers {

// nullopt: it has them.
std::optional<base::Error> no_embeddings(const Target& target);
// Lists of tokens, or texts alone.
bool takes_tokens(const Target& target);
std::size_t embedding_batch_max(const Target& target);  // inputs of one call

// Some inputs of a request: what one call is about.
struct EmbeddingPart {
  const schemas::EmbeddingRequest& request;
  std::size_t first = 0, count = 0;
};

// REQUIRES: no_embeddings(target) is nullopt; kMock has no wire request.
base::Result<WireRequest> embedding_request(const Target& target, const EmbeddingPart& part);
// kUpstream for what is no reply, or not one vector for each input. Tokens of 0 were not said.
base::Result<schemas::EmbeddingReply> embedding_reply(const Target& target, std::string_view body,
                                                      std::size_t inputs);

std::optional<base::Error> no_images(const Target& target);
// Calls that make a request's images: where one call makes one, as many as are wanted.
int image_calls(const Target& target, const schemas::ImageRequest& request);
// REQUIRES: no_images(target) is nullopt; kMock has no wire request. `call`: which of image_calls, from 0.
WireRequest image_request(const Target& target, const schemas::ImageRequest& request, int call = 0);
// kUpstream for what is no reply, or has no image; kBadRequest where a filter of the provider refused.
base::Result<schemas::ImageReply> image_reply(const Target& target, std::string_view body);
// An event of a stream; nullopt: none that tells of an image. An error that the upstream says inside of it is
// returned.
base::Result<std::optional<schemas::ImageEvent>> image_event(const Target& target,
                                                             const net::SseEvent& event);

// A reply with embeddings, read without a tree of its numbers: each list that is the member `name` of an
// object is in `vectors`, in the order of the text, and empty in `rest`.
struct ReadVectors {
  Json rest;
  std::vector<schemas::Vector> vectors;
};
// nullopt: no JSON object, deeper than kWireDepthMax, or something else than finite numbers in such a list.
std::optional<ReadVectors> read_vectors(std::string_view body, std::string_view name);

}  // namespace millrace::providers

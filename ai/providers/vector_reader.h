#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "ai/providers/json_access.h"
#include "schemas/embedding_reply.h"

namespace millrace::providers {

// A reply with embeddings, read without a tree of its numbers: each list that is the member `name` of an
// object is in `vectors`, in the order of the text, and empty in `rest`.
struct ReadVectors {
  Json rest;
  std::vector<schemas::Vector> vectors;
};
// nullopt: no JSON object, deeper than kWireDepthMax, or something else than finite numbers in such a list.
std::optional<ReadVectors> read_vectors(std::string_view body, std::string_view name);

}  // namespace millrace::providers

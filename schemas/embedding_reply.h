#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::schemas {

using Vector = std::vector<float>;

// Embeddings from whatever provider, in one form.
struct EmbeddingReply {
  std::string id, model;
  std::vector<Vector> vectors;  // of the inputs, in their order
  std::int64_t prompt_tokens = 0, total_tokens = 0;
};

// The form that clients see. Both encodings say the same float32: of a text the nearest one is what base64
// has, in little-endian order.
std::string embedding_reply_json(const EmbeddingReply& reply, bool base64);

std::string packed_vector(const Vector& vector);                 // base64 of little-endian float32
std::optional<Vector> unpacked_vector(std::string_view base64);  // nullopt: it is none, or not finite

}  // namespace millrace::schemas

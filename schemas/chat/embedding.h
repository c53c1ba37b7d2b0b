#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "schemas/field.h"

namespace millrace::schemas {

inline constexpr std::size_t kEmbeddingInputsMax = 2048;
// Of a list of tokens its length; of a text schemas::least_tokens, so that nothing is refused that fits: what
// that lets pass, the upstream counts.
inline constexpr std::int64_t kEmbeddingTokensMax = 8'192;         // of one input
inline constexpr std::int64_t kEmbeddingTokensInAllMax = 300'000;  // of one request
inline constexpr std::int64_t kEmbeddingDimensionsMax = 65'536;

// POST /v1/embeddings, its shape and its limits checked (spec; docs/design/http-contract.md §5). Whatever of
// the four forms `input` had, it is a list here: of texts or of token lists, never both, never empty.
struct EmbeddingRequest {
  std::string model;
  std::vector<std::string> texts;
  std::vector<std::vector<std::int32_t>> tokens;
  bool base64 = false;  // the reply's form: encoding_format
  std::optional<int> dimensions;
  std::string user;
  nlohmann::json extra = nlohmann::json::object();  // members that no row of the table knows
  bool strict = false;                              // ?strict=true: set by the handler
  std::int64_t input_tokens = 0;                    // of all inputs; those of texts are estimated

  std::size_t inputs() const { return texts.empty() ? tokens.size() : texts.size(); }
};

// `body` as read_json wants it. Errors: kBadRequest (JSON), kInvalidField with its problems. What depends on
// the model is not its business.
tl::expected<EmbeddingRequest, Refusal> parse_embedding_request(std::string& body);

// The table of the body: OpenAPI takes its schema from it.
std::span<const Field> embedding_request_fields();

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

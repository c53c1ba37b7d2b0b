#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "schemas/field.h"
#include "schemas/json/json.h"
#include "schemas/key_access.h"

namespace millrace::schemas {

inline constexpr std::size_t kEmbeddingInputsMax = 2048;
// Limits of tokens. A token list counts with its length, a text with schemas::least_tokens. So no input that
// fits is refused; the upstream counts exactly.
inline constexpr std::int64_t kEmbeddingTokensMax = 8'192;         // of one input
inline constexpr std::int64_t kEmbeddingTokensInAllMax = 300'000;  // of one request
inline constexpr std::int64_t kEmbeddingDimensionsMax = 65'536;

// A validated POST /v1/embeddings (spec; docs/design/http-contract.md §5). All four forms of `input` become a
// list: of texts or of token lists, never both, never empty.
struct EmbeddingRequest {
  std::string model;
  std::vector<std::string> texts;
  std::vector<std::vector<std::int32_t>> tokens;
  bool base64 = false;  // the response's encoding_format
  std::optional<int> dimensions;
  std::string user;
  Json extra = Json::object();    // members without a row in the table
  bool strict = false;            // ?strict=true: set by the handler
  AllowList allowed_models = {};  // of the key, for fallbacks: set by the handler
  std::int64_t input_tokens = 0;  // of all inputs; estimated for texts

  std::size_t inputs() const { return texts.empty() ? tokens.size() : texts.size(); }
};

// `body`: see read_json. Errors: kBadRequest (JSON), kInvalidField with its problems. It does not check what
// depends on the model.
tl::expected<EmbeddingRequest, Refusal> parse_embedding_request(std::string& body);

// The table of the body; OpenAPI's schema is generated from it.
std::span<const Field> embedding_request_fields();

using Vector = std::vector<float>;

// Embeddings in a common form for all providers.
struct EmbeddingReply {
  std::string id, model;
  std::vector<Vector> vectors;  // in the order of the inputs
  std::int64_t prompt_tokens = 0, total_tokens = 0;
};

// The API's response. Both encodings represent the same float32 values: base64 has them in little-endian
// order, and a decimal number rounds to the same float32.
std::string embedding_reply_json(const EmbeddingReply& reply, bool base64);

std::string packed_vector(const Vector& vector);                 // base64 of little-endian float32
std::optional<Vector> unpacked_vector(std::string_view base64);  // nullopt: not a vector, or not finite

}  // namespace millrace::schemas

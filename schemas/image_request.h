#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

#include "schemas/field.h"

namespace millrace::schemas {

inline constexpr int kImagesMax = 10;
inline constexpr std::int64_t kImagePromptBytesMax = 128'000;  // 32,000 characters of four bytes

// POST /v1/images/generations, its shape checked (spec; contract.md §5).
struct ImageRequest {
  std::string model;  // where none was given: as the spec's default rule says
  std::string prompt;
  int n = 1;
  bool stream = false;
  int partial_images = 0;
  std::string response_format;  // "url", "b64_json", or empty
  // What else the model is told, as it was given: size, quality, style, … and members that no row knows.
  nlohmann::json rest = nlohmann::json::object();
  bool strict = false;  // ?strict=true: set by the handler

  // A member of `rest` that is a string; else `otherwise`.
  std::string word(const char* name, std::string_view otherwise = {}) const;
};

// `body` as read_json wants it. Errors: kBadRequest (JSON), kInvalidField with its problems. What depends on
// the model is not its business.
tl::expected<ImageRequest, Refusal> parse_image_request(std::string& body);

// What the model's row of the spec does not allow; `model`: its bare name. Empty: nothing, or it has no row.
Problems image_problems(const ImageRequest& request, std::string_view model);
// The model's own replies are base64 and it knows no `response_format`: gpt-image-…, chatgpt-image-….
bool always_base64(std::string_view model);
// Images come by URL and not as base64: what was asked for, else as the model itself gives them.
bool images_by_url(const ImageRequest& request, std::string_view model);

// "gpt-image-1" of "owner/gpt-image-1".
std::string_view bare_model_name(std::string_view model);

// The table of the body: OpenAPI takes its schema from it.
std::span<const Field> image_request_fields();

}  // namespace millrace::schemas

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

inline constexpr int kImagesMax = 10;
inline constexpr std::int64_t kImagePromptBytesMax = 128'000;  // 32,000 characters of four bytes

// A validated POST /v1/images/generations (spec; docs/design/http-contract.md §5).
struct ImageRequest {
  std::string model;  // empty: the request names none
  std::string prompt;
  int n = 1;
  bool stream = false;
  int partial_images = 0;
  std::string response_format;  // "url", "b64_json", or empty
  // The other parameters for the model, unchanged: size, quality, style, … and members without a row.
  Json rest = Json::object();
  bool strict = false;            // ?strict=true: set by the handler
  AllowList allowed_models = {};  // of the key, for fallbacks: set by the handler

  // A string member of `rest`; `otherwise` if it is absent or not a string.
  std::string word(const char* name, std::string_view otherwise = {}) const;
};

// `body`: see read_json. Errors: kBadRequest (JSON), kInvalidField with its problems. It does not check what
// depends on the model.
tl::expected<ImageRequest, Refusal> parse_image_request(std::string& body);

// The problems of the request by the model's row in the spec; `model`: its bare name. Empty: no problem, or
// the model has no row.
Problems image_problems(const ImageRequest& request, std::string_view model);
// True: the model always returns base64 and has no `response_format`: gpt-image-…, chatgpt-image-….
bool always_base64(std::string_view model);
// True: images are returned by URL, not as base64. The request decides; otherwise the model's default.
bool images_by_url(const ImageRequest& request, std::string_view model);

// True: the request has a parameter that only the gpt-image models support.
bool needs_gpt_image(const ImageRequest& request);

// "gpt-image-1" of "owner/gpt-image-1".
std::string_view bare_model_name(std::string_view model);

// The table of the body; OpenAPI's schema is generated from it.
std::span<const Field> image_request_fields();

struct Image {
  std::string b64_json, url;   // one of them is set
  std::string revised_prompt;  // empty: not returned
};
struct ImageUsage {
  std::int64_t input = 0, output = 0, total = 0;
  Json input_details = nullptr;  // of one call, as the upstream returned them; object or null
};
// Images in a common form for all providers.
struct ImageReply {
  std::int64_t created = 0;  // Unix seconds
  std::vector<Image> images;
  std::optional<ImageUsage> usage;
  Json extra;  // other members of the upstream's response (size, quality, background …); or null
};
void add(ImageReply& to, ImageReply reply);  // adds another call of the same request

std::string image_reply_json(const ImageReply& reply);

// One event of a stream (docs/design/http-contract.md §5). image_event_text takes properties that the
// upstream did not return from the request.
struct ImageEvent {
  bool completed = false;
  std::string b64_json;
  int partial_index = 0;                                                     // of a partial image
  std::int64_t created_at = 0;                                               // Unix seconds; 0: not returned
  std::optional<ImageUsage> usage = {};                                      // of a completed image
  std::string size = {}, quality = {}, background = {}, output_format = {};  // empty: not returned
  std::string dropped_params = {};  // dropped after the stream's head was sent
};
std::string image_event_text(const ImageEvent& event, const ImageRequest& request, std::int64_t now);

}  // namespace millrace::schemas

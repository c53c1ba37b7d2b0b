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

inline constexpr int kImagesMax = 10;
inline constexpr std::int64_t kImagePromptBytesMax = 128'000;  // 32,000 characters of four bytes

// POST /v1/images/generations, its shape checked (spec; docs/design/http-contract.md §5).
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

struct Image {
  std::string b64_json, url;   // one of them
  std::string revised_prompt;  // empty: not said
};
struct ImageUsage {
  std::int64_t input = 0, output = 0, total = 0;
  nlohmann::json input_details = nullptr;  // of one call, as the upstream said them; object or null
};
// Images from whatever provider, in one form.
struct ImageReply {
  std::int64_t created = 0;  // Unix seconds
  std::vector<Image> images;
  std::optional<ImageUsage> usage;
  nlohmann::json extra;  // other members, as the upstream said them (size, quality, background …); or null
};
void add(ImageReply& to, ImageReply reply);  // of another call of the same request

std::string image_reply_json(const ImageReply& reply);

// One event of a stream, ready to be sent (docs/design/http-contract.md §5). What the upstream did not say of
// the image is taken from the request.
struct ImageEvent {
  bool completed = false;
  std::string b64_json;
  int partial_index = 0;                                                     // not of a completed one
  std::int64_t created_at = 0;                                               // Unix seconds; 0: not said
  std::optional<ImageUsage> usage = {};                                      // of a completed one
  std::string size = {}, quality = {}, background = {}, output_format = {};  // empty: not said
  std::string dropped_params = {};  // that the stream's head has gone too early to say
};
std::string image_event_text(const ImageEvent& event, const ImageRequest& request, std::int64_t now);

}  // namespace millrace::schemas

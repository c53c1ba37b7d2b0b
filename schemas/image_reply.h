#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "schemas/image_request.h"

namespace millrace::schemas {

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

// One event of a stream, ready to be sent (contract.md §5). What the upstream did not say of the image is
// taken from the request.
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

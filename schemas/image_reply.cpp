#include "schemas/image_reply.h"

#include <array>
#include <iterator>
#include <utility>

#include "schemas/chat_text.h"
#include "schemas/json_body.h"
#include "schemas/json_text.h"

namespace millrace::schemas {
namespace {

constexpr std::array<std::string_view, 3> kImageReplyMembers{"created", "data", "usage"};

std::string usage_json(const ImageUsage& usage) {
  JsonObject out;
  out.number("input_tokens", usage.input)
      .number("output_tokens", usage.output)
      .number("total_tokens", usage.total);
  if (usage.input_details.is_object()) out.raw("input_tokens_details", dump(usage.input_details));
  return out.finish();
}

std::string image_json(const Image& image) {
  JsonObject out(image.b64_json.size() + 128);
  if (!image.url.empty()) {
    out.member("url", image.url);
  } else {
    out.member("b64_json", image.b64_json);
  }
  if (!image.revised_prompt.empty()) out.member("revised_prompt", image.revised_prompt);
  return out.finish();
}

const std::string& said_or(const std::string& said, const std::string& otherwise) {
  return said.empty() ? otherwise : said;
}

}  // namespace

void add(ImageReply& to, ImageReply reply) {
  if (to.created == 0) to.created = reply.created;
  std::move(reply.images.begin(), reply.images.end(), std::back_inserter(to.images));
  if (to.extra.is_null()) to.extra = std::move(reply.extra);
  if (!reply.usage) return;
  if (!to.usage) {
    to.usage = std::move(reply.usage);
    return;
  }
  to.usage->input_details = nullptr;
  to.usage->input += reply.usage->input;
  to.usage->output += reply.usage->output;
  to.usage->total += reply.usage->total;
}

std::string image_reply_json(const ImageReply& reply) {
  std::string out = "{\"created\":" + std::to_string(reply.created) + ",\"data\":[";
  for (const Image& image : reply.images) {
    if (out.back() != '[') out += ',';
    out += image_json(image);
  }
  out += ']';
  if (reply.usage) out.append(",\"usage\":").append(usage_json(*reply.usage));
  append_extra(out, reply.extra, kImageReplyMembers);
  return out += '}';
}

std::string image_event_text(const ImageEvent& event, const ImageRequest& request, std::int64_t now) {
  const char* const type = event.completed ? "image_generation.completed" : "image_generation.partial_image";
  JsonObject data(event.b64_json.size() + 256);
  data.member("type", type).member("b64_json", event.b64_json);
  if (!event.completed) data.number("partial_image_index", event.partial_index);
  data.number("created_at", event.created_at > 0 ? event.created_at : now)
      .member("size", said_or(event.size, request.word("size", "auto")))
      .member("quality", said_or(event.quality, request.word("quality", "auto")))
      .member("background", said_or(event.background, request.word("background", "auto")))
      .member("output_format", said_or(event.output_format, request.word("output_format", "png")));
  if (event.completed) data.raw("usage", usage_json(event.usage.value_or(ImageUsage())));
  if (!event.dropped_params.empty()) data.member("dropped_params", event.dropped_params);
  return std::string("event: ").append(type).append("\ndata: ").append(data.finish()).append("\n\n");
}

}  // namespace millrace::schemas

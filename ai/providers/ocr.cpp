#include "ai/providers/ocr.h"

#include <limits>
#include <utility>

#include "ai/providers/json_access.h"
#include "ai/providers/wire_text.h"
#include "platform/base/base64.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"

namespace millrace::providers {
namespace {

using schemas::OcrPage;

// nullopt: not a number, or out of range for a page.
std::optional<int> measure(const Json& object, std::string_view name) {
  const auto value = integer_of(object, name);
  const bool fits = value && *value >= 0 && *value <= std::numeric_limits<int>::max();
  return fits ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<schemas::OcrDimensions> dimensions_of(const Json* node) {
  if (node == nullptr) return std::nullopt;
  const auto dpi = measure(*node, "dpi"), height = measure(*node, "height"), width = measure(*node, "width");
  if (!dpi || !height || !width) return std::nullopt;
  return schemas::OcrDimensions{*dpi, *height, *width};
}

// The members that are not `is_own`, without empty ones.
template <class IsOwn>
schemas::OcrMembers others_of(const Json& node, const IsOwn& is_own) {
  schemas::OcrMembers members;
  if (!node.is_object()) return members;
  for (const auto& [name, value] : node.items()) {
    if (!value.is_null() && !is_own(name)) members.emplace_back(name, schemas::dump(value));
  }
  return members;
}

bool is_reply_member(std::string_view name) {
  return name == "pages" || name == "model" || name == "usage_info";
}

schemas::OcrImage picture_of(const Json& node) {
  schemas::OcrImage picture;
  picture.id = text_of(node, "id");
  picture.top_left_x = measure(node, "top_left_x");
  picture.top_left_y = measure(node, "top_left_y");
  picture.bottom_right_x = measure(node, "bottom_right_x");
  picture.bottom_right_y = measure(node, "bottom_right_y");
  picture.image_base64 = text_of(node, "image_base64");
  picture.others = others_of(node, schemas::is_ocr_image_member);
  return picture;
}

std::optional<OcrPage> page_of(const Json& node) {
  const auto index = measure(node, "index");
  const Json* markdown = member(node, "markdown");
  if (!index || *index >= schemas::kDocumentPagesMax || markdown == nullptr || !markdown->is_string())
    return std::nullopt;
  OcrPage page;
  page.index = *index;
  page.markdown = text_of(markdown);
  page.dimensions = dimensions_of(member(node, "dimensions"));
  const Json* pictures = member(node, "images");
  if (pictures != nullptr && pictures->is_array()) {
    for (const Json& each : *pictures) page.images.push_back(picture_of(each));
  }
  page.others = others_of(node, schemas::is_ocr_page_member);
  return page;
}

}  // namespace

std::optional<base::Error> no_ocr(const Target& target) {
  if (target.preset->family == Family::kOpenai) return std::nullopt;
  return base::error(base::Code::kBadRequest,
                     "provider " + std::string(target.preset->name) + " does not read documents", "model");
}

base::Result<WireRequest> ocr_request(const Target& target, const OcrCall& call) {
  const base::Result<std::string> bytes = call.bytes();
  if (!bytes) return bytes.error();
  const bool is_image = call.media_type.starts_with("image/");
  const std::string_view field = is_image ? "image_url" : "document_url";
  WireRequest out;
  out.path = "/ocr";
  out.headers.emplace_back("Content-Type", "application/json");
  const std::string coded = base::base64_encode(*bytes);
  out.body.reserve(coded.size() + 512);
  out.body = "{\"model\":";
  schemas::append_json_string(out.body, target.model);
  out.body.append(",\"document\":{\"type\":\"").append(field).append("\",\"").append(field);
  out.body.append("\":\"data:").append(call.media_type).append(";base64,").append(coded).append("\"}");
  if (!is_image && !call.pages.empty())
    out.body.append(",\"pages\":").append(schemas::dump(Json(call.pages)));
  out.body.append(",\"include_image_base64\":").append(call.image_data ? "true" : "false");
  if (call.options.size() > 2) out.body.append(",").append(call.options, 1, call.options.size() - 2);
  out.body.append("}");
  return out;
}

base::Result<std::vector<OcrPage>> ocr_reply(const Target& target, std::string_view body) {
  const std::optional<Json> value = parse_wire(body);
  if (!value) return unreadable(target, body);
  const Json* node = member(*value, "pages");
  if (node == nullptr || !node->is_array()) return not_a_reply(target);
  std::vector<OcrPage> pages;
  for (const Json& each : *node) {
    if (auto page = page_of(each)) pages.push_back(*std::move(page));
  }
  if (!pages.empty()) pages.front().document = others_of(*value, is_reply_member);
  return pages;
}

}  // namespace millrace::providers

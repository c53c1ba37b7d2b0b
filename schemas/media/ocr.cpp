#include "schemas/media/ocr.h"

#include <algorithm>
#include <array>
#include <utility>

#include <simdjson.h>

#include "platform/base/base64.h"
#include "schemas/json/json.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

// Only this file writes specs and parts, so anything else means that the store is damaged.
base::Error unreadable(std::string_view what) {
  return base::error(base::Code::kInternal, "the stored " + std::string(what) + " cannot be read");
}

void append_coordinate(JsonObject& out, std::string_view name, std::optional<int> value) {
  if (value) {
    out.number(name, *value);
  } else {
    out.raw(name, "null");
  }
}

constexpr std::string_view kDocumentMembers = "document_members";  // of the JSON of a page
constexpr std::array<std::string_view, 7> kPageMembers{"index",    "markdown", "images",        "dimensions",
                                                       "warnings", "error",    kDocumentMembers};
constexpr std::array<std::string_view, 6> kImageMembers{
    "id", "top_left_x", "top_left_y", "bottom_right_x", "bottom_right_y", "image_base64"};

void append_members(JsonObject& out, const OcrMembers& members) {
  for (const auto& [name, value] : members) out.raw(name, value);
}

template <class IsOwn>
OcrMembers other_members(const Json& object, const IsOwn& is_own) {
  OcrMembers members;
  for (const auto& [name, value] : object.items()) {
    if (!is_own(name)) members.emplace_back(name, dump(value));
  }
  return members;
}

std::string image_json(const OcrImage& image) {
  JsonObject out;
  out.member("id", image.id);
  append_coordinate(out, "top_left_x", image.top_left_x);
  append_coordinate(out, "top_left_y", image.top_left_y);
  append_coordinate(out, "bottom_right_x", image.bottom_right_x);
  append_coordinate(out, "bottom_right_y", image.bottom_right_y);
  if (!image.image_base64.empty()) out.member("image_base64", image.image_base64);
  append_members(out, image.others);
  return out.finish();
}

std::string images_json(const std::vector<OcrImage>& images) {
  std::string out = "[";
  for (const OcrImage& image : images) {
    if (out.size() > 1) out += ',';
    out += image_json(image);
  }
  return out + "]";
}

std::string dimensions_json(const std::optional<OcrDimensions>& dimensions) {
  if (!dimensions) return "null";
  return JsonObject()
      .number("dpi", dimensions->dpi)
      .number("height", dimensions->height)
      .number("width", dimensions->width)
      .finish();
}

std::string warnings_json(const std::vector<PageWarning>& warnings) {
  std::string out = "[";
  for (const PageWarning& warning : warnings) {
    if (out.size() > 1) out += ',';
    out += JsonObject().member("code", warning.code).member("message", warning.message).finish();
  }
  return out + "]";
}

std::string pages_json(const PageList& pages) {
  std::string out = "[";
  for (const int page : pages) {
    if (out.size() > 1) out += ',';
    out += std::to_string(page);
  }
  return out + "]";
}

std::optional<int> coordinate(const Json& image, const char* name) {
  const auto found = image.find(name);
  if (found == image.end() || found->is_null()) return std::nullopt;
  return found->get<int>();
}

OcrImage image_from(const Json& from) {
  OcrImage image;
  image.id = from.at("id").get<std::string>();
  image.top_left_x = coordinate(from, "top_left_x");
  image.top_left_y = coordinate(from, "top_left_y");
  image.bottom_right_x = coordinate(from, "bottom_right_x");
  image.bottom_right_y = coordinate(from, "bottom_right_y");
  image.image_base64 = from.value("image_base64", std::string());
  image.others = other_members(from, is_ocr_image_member);
  return image;
}

OcrPage page_from(const Json& from) {
  OcrPage page;
  page.index = from.at("index").get<int>();
  page.markdown = from.at("markdown").get<std::string>();
  for (const Json& image : from.at("images")) page.images.push_back(image_from(image));
  if (const Json& size = from.at("dimensions"); !size.is_null()) {
    page.dimensions = {size.at("dpi").get<int>(), size.at("height").get<int>(), size.at("width").get<int>()};
  }
  for (const Json& warning : from.value("warnings", Json::array())) {
    page.warnings.push_back(
        {warning.at("code").get<std::string>(), warning.at("message").get<std::string>()});
  }
  if (const auto error = from.find("error"); error != from.end()) {
    page.error = base::error(base::code_named(error->at("code").get<std::string>()),
                             error->at("message").get<std::string>());
  }
  page.others = other_members(from, is_ocr_page_member);
  page.document =
      other_members(from.value(kDocumentMembers, Json::object()), [](const auto&) { return false; });
  return page;
}

constexpr char kDocumentMark = '\0';  // never occurs in JSON

std::string document_before_15(const Json& from) {
  return base::base64_decode(from.value("inline_document", std::string())).value_or(std::string());
}

OcrSpec spec_from(const Json& from) {
  OcrSpec spec;
  spec.model = from.at("model").get<std::string>();
  spec.document_url = from.value("document_url", std::string());
  spec.document_name = from.value("document_name", std::string());
  spec.pages = from.value("pages", PageList());
  spec.include_image_base64 = from.value("include_image_base64", false);
  spec.by_provider = from.value("by_provider", false);
  if (const auto options = from.find("options"); options != from.end()) spec.options = dump(*options);
  spec.allowed_models = allow_list_from(from.value("allowed_models", Json()));
  spec.is_range = from.value("is_range", false);
  return spec;
}

}  // namespace

std::string pack(const OcrSpec& spec) { return pack(spec, spec.inline_document); }

std::string pack(const OcrSpec& spec, std::string_view document) {
  constexpr std::size_t kNamesAndMarks = 256;
  JsonObject out(document.size() + spec.document_url.size() + kNamesAndMarks);
  out.member("model", spec.model);
  if (!spec.document_url.empty()) out.member("document_url", spec.document_url);
  if (!spec.document_name.empty()) out.member("document_name", spec.document_name);
  if (!spec.pages.empty()) out.raw("pages", pages_json(spec.pages));
  if (spec.include_image_base64) out.flag("include_image_base64", true);
  if (spec.by_provider) out.flag("by_provider", true);
  if (!spec.options.empty()) out.raw("options", spec.options);
  if (spec.allowed_models) out.raw("allowed_models", dump(*spec.allowed_models));
  if (spec.is_range) out.flag("is_range", true);
  std::string packed = out.finish();
  if (!document.empty()) packed.append(1, kDocumentMark).append(document);
  return packed;
}

std::size_t json_size(std::string_view packed) { return std::min(packed.find(kDocumentMark), packed.size()); }

base::Result<OcrSpec> unpack_ocr_spec(std::string_view packed) {
  const std::size_t mark = json_size(packed);
  try {
    const Json from = Json::parse(packed.substr(0, mark));
    OcrSpec spec = spec_from(from);
    spec.inline_document = mark < packed.size() ? packed.substr(mark + 1) : document_before_15(from);
    return spec;
  } catch (const Json::exception&) {
    return unreadable("OCR request");
  }
}

std::string to_json(const OcrPage& page) {
  JsonObject out;
  out.number("index", page.index);
  out.member("markdown", page.markdown);
  out.raw("images", images_json(page.images));
  out.raw("dimensions", dimensions_json(page.dimensions));
  if (!page.warnings.empty()) out.raw("warnings", warnings_json(page.warnings));
  if (page.error) {
    out.raw("error", JsonObject()
                         .member("code", base::name(page.error->code))
                         .member("message", page.error->message)
                         .finish());
  }
  append_members(out, page.others);
  if (!page.document.empty()) {
    JsonObject document;
    append_members(document, page.document);
    out.raw(kDocumentMembers, document.finish());
  }
  return out.finish();
}

bool is_ocr_page_member(std::string_view name) {
  return std::ranges::find(kPageMembers, name) != kPageMembers.end();
}

bool is_ocr_image_member(std::string_view name) {
  return std::ranges::find(kImageMembers, name) != kImageMembers.end();
}

std::optional<PageOfDocument> without_document_members(std::string_view page) {
  if (page.find(kDocumentMembers) == std::string_view::npos) return std::nullopt;
  Json tree = Json::parse(page, nullptr, false);
  const auto found = tree.is_object() ? tree.find(kDocumentMembers) : tree.end();
  if (found == tree.end() || !found->is_object()) return std::nullopt;
  const std::string members = dump(*found);
  tree.erase(found);
  return PageOfDocument{.page = dump(tree), .members = members.substr(1, members.size() - 2)};
}

base::Result<OcrPage> ocr_page_from_json(std::string_view text) {
  try {
    return page_from(Json::parse(text));
  } catch (const Json::exception&) {
    return unreadable("page");
  }
}

bool ocr_page_failed(std::string_view part) {
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(part);
  simdjson::ondemand::document document;
  simdjson::ondemand::value error;
  if (parser.iterate(padded).get(document) != simdjson::SUCCESS) return true;
  return document.find_field_unordered("error").get(error) != simdjson::NO_SUCH_FIELD;
}

std::string ocr_reply_tail(std::string_view model, int good, std::int64_t doc_size_bytes,
                           std::string_view document) {
  std::string out = R"(],"model":)";
  append_json_string(out, model);
  out += R"(,"usage_info":{"pages_processed":)" + std::to_string(good) + R"(,"doc_size_bytes":)";
  out += doc_size_bytes < 0 ? "null" : std::to_string(doc_size_bytes);
  out += '}';
  if (!document.empty()) out.append(",").append(document);
  return out + "}";
}

std::string ocr_reply(std::string_view model, const std::vector<std::string>& parts,
                      std::int64_t doc_size_bytes) {
  std::size_t bytes = 256 + model.size();
  for (const std::string& part : parts) bytes += part.size() + 1;
  std::string out, document;
  out.reserve(bytes);
  out += kOcrReplyHead;
  int good = 0;
  for (const std::string& part : parts) {
    if (out.back() != '[') out += ',';
    const auto split = without_document_members(part);
    if (split && document.empty()) document = split->members;
    out += split ? split->page : part;
    if (!ocr_page_failed(part)) ++good;
  }
  return out + ocr_reply_tail(model, good, doc_size_bytes, document);
}

}  // namespace millrace::schemas

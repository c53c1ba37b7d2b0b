#include "schemas/ocr_quick.h"

#include <bitset>

#include "schemas/json_body.h"
#include "schemas/json_parser.h"
#include "schemas/quick_json.h"
#include "schemas/url_text.h"

namespace millrace::schemas {
namespace {

namespace sj = simdjson::ondemand;

// Each function is false for what is to be read as a tree.
class QuickOcrWalk {
 public:
  QuickOcrWalk(const char* end, QuickOcr& out) : end_(end), out_(out) {}

  bool read(sj::document& document) {
    sj::object object;
    if (!is_good(document.get_object().get(object))) return false;
    const bool read = read_members(
        object, end_, [this](std::string_view name, sj::value& value) { return member(name, value); });
    if (!read || !is_read_whole(document) || out_.base64.data() == nullptr) return false;
    if (out_.name.empty()) out_.name = inner_name_;
    return true;
  }

 private:
  enum Seen : std::size_t { kModel, kDocument, kName, kImages, kDeferred, kType, kUrl, kInnerName, kSeen };

  bool member(std::string_view name, sj::value& value) {
    if (name == "document") return first(kDocument) && document(value);
    if (name == "model") return first(kModel) && text(value, out_.model) && !out_.model.empty();
    if (name == "include_image_base64")
      return first(kImages) && is_good(value.get_bool().get(out_.include_image_base64));
    if (name == "deferred") return first(kDeferred) && is_good(value.get_bool().get(out_.deferred));
    return name == "document_name" && first(kName) && text(value, out_.name);
  }

  bool document(sj::value& value) {
    sj::object object;
    if (!is_good(value.get_object().get(object))) return false;
    return read_members(object, end_, [this](std::string_view name, sj::value& said) {
      if (name == "document_url") return first(kUrl) && url(said);
      if (name == "document_name") return first(kInnerName) && text(said, inner_name_);
      std::string_view type;
      return name == "type" && first(kType) && text(said, type) && type == "document_url";
    });
  }

  // A key that comes twice is wrong.
  bool first(Seen which) {
    const bool was = seen_[which];
    seen_[which] = true;
    return !was;
  }

  bool text(sj::value& value, std::string_view& out) {
    const auto inside = plain(value);
    if (!inside || inside->size() > static_cast<std::size_t>(kDocumentNameMax)) return false;
    out = *inside;
    return true;
  }

  bool url(sj::value& value) {
    const auto inside = plain(value);
    if (!inside || !has_scheme(*inside, "data:")) return false;
    const auto base64 = data_uri_base64(*inside);
    if (base64) out_.base64 = *base64;
    return base64.has_value();
  }

  std::optional<std::string_view> plain(sj::value& value) {
    const auto inside = string_inside(value, end_);
    if (!inside || inside->find('\\') != std::string_view::npos) return std::nullopt;
    return inside;
  }

  const char* const end_;
  QuickOcr& out_;
  std::string_view inner_name_;
  std::bitset<kSeen> seen_;
};

}  // namespace

std::optional<QuickOcr> quick_ocr_request(std::string& body) {
  if (body.size() > kSharedParserMax) return std::nullopt;
  const auto text = padded(body, kJsonPadding);
  sj::document document;
  if (!is_good(shared_parser().iterate(text).get(document))) return std::nullopt;
  std::optional<QuickOcr> out(std::in_place);
  if (!QuickOcrWalk(body.data() + body.size(), *out).read(document)) return std::nullopt;
  return out;
}

}  // namespace millrace::schemas

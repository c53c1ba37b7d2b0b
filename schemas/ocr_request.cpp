#include "schemas/ocr_request.h"

#include <algorithm>
#include <array>

#include "platform/base/nearest.h"
#include "schemas/page_list.h"

namespace millrace::schemas {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kModels{kOcrModel, kOcrModelDefault, "mistral-ocr-latest"};
constexpr std::int64_t kNameMax = 255;
constexpr std::size_t kUrlMax = 8192;

// What the table fills; views point into the body.
struct Wanted {
  std::string model{kOcrModelDefault};
  std::string document_type;
  std::string_view document_url, image_url;
  std::string name, inner_name;
  PageList pages;
  bool has_file_id = false;
  bool include_image_base64 = false;
  bool deferred = false;
};

template <auto Member>
constexpr auto into = &store_in<Wanted, Member>;

void read_image_url(void* object, FieldReader& reader, const json& value) {
  const json* url = &value;
  if (value.is_object()) {
    const auto at = value.find("url");
    url = at == value.end() ? nullptr : &*at;
  }
  const auto text = url == nullptr ? std::nullopt : reader.text(*url);
  if (!text)
    return reader.problem("Input should be a string or an object with a string `url`", "string_type", &value);
  static_cast<Wanted*>(object)->image_url = *text;
}

void read_page_numbers(FieldReader& reader, const json& list, PageList& pages) {
  for (const json& each : list) {
    const bool good = each.is_number_integer() && each >= 0 && each < kDocumentPagesMax;
    if (!good) return reader.problem("Pages are integers from 0 to 999", "int_range", &each);
    pages.push_back(each.get<int>());
  }
  if (pages.empty()) reader.problem("List should name at least one page", "too_short", &list);
  normalise(pages);
}

void read_pages(void* object, FieldReader& reader, const json& value) {
  auto& pages = static_cast<Wanted*>(object)->pages;
  if (value.is_array()) return read_page_numbers(reader, value, pages);
  const auto text = reader.text(value);
  auto parsed = text ? parse_pages(*text) : std::nullopt;
  if (parsed) {
    pages = std::move(*parsed);
    return;
  }
  reader.problem("Input should be a list of page numbers from 0 to 999, or a text such as \"0-5,7\"",
                 "page_list", &value);
}

void read_file_id(void* object, FieldReader& reader, const json& value) {
  static_cast<Wanted*>(object)->has_file_id = true;
  reader.problem(
      "Uploaded files are not supported: send `document_url` as an HTTPS URL or as a base64 data URI",
      "value_error", &value);
}

constexpr std::array<std::string_view, 2> kDocumentTypes{"document_url", "image_url"};

constexpr std::string_view kImageUrlSchema =
    R"({"oneOf":[{"type":"string"},{"type":"object","required":["url"],"properties":{"url":{"type":"string"}}}]})";
constexpr std::string_view kPagesSchema =
    R"({"oneOf":[{"type":"array","minItems":1,"items":{"type":"integer","minimum":0,"maximum":999}},)"
    R"({"type":"string","examples":["0-5,7"]},{"type":"null"}]})";

constexpr std::array kDocument{
    Field{.name = "type",
          .text = "May be left out",
          .choices = kDocumentTypes,
          .store = into<&Wanted::document_type>},
    Field{.name = "document_url",
          .text = "HTTPS URL, or a data URI `data:<media_type>;base64,<data>`: PDF, PNG, JPEG or WebP, at "
                  "most 50 MB",
          .store = into<&Wanted::document_url>},
    Field{.name = "image_url",
          .type = FieldType::kCustom,
          .text = "The same for an image",
          .schema = kImageUrlSchema,
          .custom = &read_image_url},
    Field{.name = "document_name",
          .text = "Shown in listings",
          .max = kNameMax,
          .store = into<&Wanted::inner_name>},
    Field{.name = "file_id",
          .type = FieldType::kCustom,
          .text = "Not supported: always refused",
          .schema = R"({"type":"string"})",
          .custom = &read_file_id},
};

constexpr std::array kTable{
    Field{.name = "model",
          .text = "`millrace/ocr` or one of its other names",
          .min = 1,
          .max = kNameMax,
          .default_json = "\"vendor-ocr-latest\"",
          .store = into<&Wanted::model>},
    Field{.name = "document", .type = FieldType::kObject, .required = true, .members = kDocument},
    Field{.name = "pages",
          .type = FieldType::kCustom,
          .text = "Which pages, counted from 0; absent: all",
          .schema = kPagesSchema,
          .custom = &read_pages},
    Field{.name = "include_image_base64",
          .type = FieldType::kBool,
          .text = "Embedded images as data URIs in the reply",
          .default_json = "false",
          .store = into<&Wanted::include_image_base64>},
    Field{
        .name = "document_name", .text = "Shown in listings", .max = kNameMax, .store = into<&Wanted::name>},
    Field{.name = "deferred",
          .type = FieldType::kBool,
          .text = "Answer 202 with the job at once, as `Prefer: respond-async`",
          .default_json = "false",
          .store = into<&Wanted::deferred>},
};

FieldProblem at_document(std::string_view field, std::string msg, std::string type) {
  FieldProblem out{
      .loc = {"body", "document"}, .msg = std::move(msg), .type = std::move(type), .input = {}, .ctx = {}};
  if (!field.empty()) out.loc.emplace_back(field);
  return out;
}

struct Source {
  std::string_view field;  // which of the two
  std::string_view url;
};

// Which field holds the document; problems go to `problems`.
Source source(const Wanted& wanted, Problems& problems) {
  const bool as_image =
      wanted.document_type == "image_url" ||
      (wanted.document_type.empty() && wanted.document_url.empty() && !wanted.image_url.empty());
  const Source out =
      as_image ? Source{"image_url", wanted.image_url} : Source{"document_url", wanted.document_url};
  if (wanted.document_type.empty() && !wanted.document_url.empty() && !wanted.image_url.empty()) {
    problems.push_back(at_document("", "Give either `document_url` or `image_url`", "value_error"));
  } else if (out.url.empty()) {
    problems.push_back(at_document(out.field, "Field required", "missing"));
  }
  return out;
}

bool same_letters(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

bool has_scheme(std::string_view url, std::string_view scheme) {
  return url.size() >= scheme.size() && same_letters(url.substr(0, scheme.size()), scheme);
}

// "data:application/pdf;base64,…" → what follows the comma; nullopt: not base64.
std::optional<std::string_view> data_uri_base64(std::string_view url) {
  constexpr std::string_view kMark = ";base64";
  constexpr std::size_t kHeadMax = 512;
  const std::size_t comma = url.substr(0, kHeadMax).find(',');
  if (comma == std::string_view::npos || comma < kMark.size()) return std::nullopt;
  if (!same_letters(url.substr(comma - kMark.size(), kMark.size()), kMark)) return std::nullopt;
  return url.substr(comma + 1);
}

bool plausible_url(std::string_view url) {
  const std::size_t start = has_scheme(url, "https://") ? 8 : has_scheme(url, "http://") ? 7 : 0;
  if (start == 0) return false;
  const bool clean = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c != '\x7f'; });
  const char first = start < url.size() ? url[start] : '\0';
  return clean && first != '\0' && first != '/' && first != '?' && first != '#' && first != ':';
}

void take_source(const Source& source, OcrRequest& out, Problems& problems) {
  if (has_scheme(source.url, "data:")) {
    const auto base64 = data_uri_base64(source.url);
    out.is_data_uri = true;
    if (base64) {
      out.base64 = *base64;
    } else {
      problems.push_back(
          at_document(source.field, "A data URI should read data:<media_type>;base64,<data>", "url_parsing"));
    }
  } else if (source.url.size() > kUrlMax) {
    problems.push_back(at_document(source.field, "URL should have at most 8192 bytes", "url_too_long"));
  } else if (!plausible_url(source.url)) {
    problems.push_back(at_document(
        source.field, "Input should be an HTTPS URL or a data URI data:<media_type>;base64,<data>",
        "url_parsing"));
  } else {
    out.spec.document_url = source.url;
  }
}

Refusal no_model(const std::string& model) {
  std::string message = "The model '" + model + "' does not exist";
  const std::string_view near = base::nearest(model, kModels);
  message.append("; did you mean '").append(near.empty() ? kOcrModel : near).append("'?");
  return {base::error(base::Code::kModelNotFound, std::move(message), "model"), {}};
}

}  // namespace

std::span<const std::string_view> ocr_model_names() { return kModels; }
std::span<const Field> ocr_request_fields() { return kTable; }

tl::expected<OcrRequest, Refusal> parse_ocr_request(std::string& body) {
  auto read = read_json(body);
  if (!read) return tl::make_unexpected(Refusal{read.error(), {}});
  Wanted wanted;
  FieldReader reader("body", *read);
  reader.read(kTable, read->value, &wanted);
  Problems& problems = reader.problems();
  OcrRequest out;
  if (problems.empty()) {
    const Source from = source(wanted, problems);
    if (problems.empty()) take_source(from, out, problems);
  }
  if (!problems.empty()) return tl::make_unexpected(invalid(std::move(problems)));
  if (std::find(kModels.begin(), kModels.end(), wanted.model) == kModels.end()) {
    return tl::make_unexpected(no_model(wanted.model));
  }
  out.spec.model = std::move(wanted.model);
  out.spec.document_name = wanted.name.empty() ? std::move(wanted.inner_name) : std::move(wanted.name);
  out.spec.pages = std::move(wanted.pages);
  out.spec.include_image_base64 = wanted.include_image_base64;
  out.deferred = wanted.deferred;
  out.dropped = std::move(reader.unknown());
  out.body = std::move(*read);
  return out;
}

}  // namespace millrace::schemas

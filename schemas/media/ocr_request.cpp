#include "schemas/media/ocr_request.h"

#include <algorithm>
#include <array>
#include <bitset>

#include "platform/base/nearest.h"
#include "schemas/files/stored_file.h"
#include "schemas/jobs/job_metadata.h"
#include "schemas/jobs/job_name.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_tree.h"
#include "schemas/json/quick_json.h"
#include "schemas/json/url_text.h"
#include "schemas/media/ocr_options.h"
#include "schemas/media/page_list.h"
#include "schemas/unknown_model.h"

namespace millrace::schemas {
namespace {

namespace sj = simdjson::ondemand;

// Each function returns false for input that the tree parser must handle.
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
    return read_members(object, end_, [this](std::string_view name, sj::value& node) {
      if (name == "document_url") return first(kUrl) && url(node);
      if (name == "document_name") return first(kInnerName) && text(node, inner_name_);
      std::string_view type;
      return name == "type" && first(kType) && text(node, type) && type == "document_url";
    });
  }

  // False: the key occurred before, which is invalid.
  bool first(Seen which) {
    const bool was = seen_[which];
    seen_[which] = true;
    return !was;
  }

  bool text(sj::value& value, std::string_view& out) {
    const auto inside = plain(value);
    if (!inside || inside->size() > static_cast<std::size_t>(kOcrModelNameMax)) return false;
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

namespace {

constexpr std::array<std::string_view, 3> kModels{kOcrModel, kOcrModelDefault, "mistral-ocr-latest"};

// The struct that the table fills; views point into the body.
struct OcrRequestDraft {
  std::string model{kOcrModelDefault};
  std::string document_type;
  std::string_view document_url, image_url;
  std::string name, inner_name, metadata;
  PageList pages;
  Json options = Json::object();  // ocr_options.h
  std::string file_id;
  bool include_image_base64 = false;
  bool deferred = false;
  std::optional<JobStart> start;
};

template <auto Member>
constexpr auto into_ocr = &store_in<OcrRequestDraft, Member>;

void read_document_image(void* object, FieldReader& reader, const Json& value) {
  const Json* url = &value;
  if (value.is_object()) {
    const auto at = value.find("url");
    url = at == value.end() ? nullptr : &*at;
  }
  const auto text = url == nullptr ? std::nullopt : reader.text(*url);
  if (!text)
    return reader.problem("Input should be a string or an object with a string `url`", "string_type", &value);
  static_cast<OcrRequestDraft*>(object)->image_url = *text;
}

void read_page_numbers(FieldReader& reader, const Json& list, PageList& pages) {
  for (const Json& each : list) {
    const bool good = each.is_number_integer() && each >= 0 && each < kDocumentPagesMax;
    if (!good) return reader.problem("Pages are integers from 0 to 999", "int_range", &each);
    pages.push_back(each.get<int>());
  }
  if (pages.empty()) reader.problem("List should have at least one page", "too_short", &list);
  normalise(pages);
}

void read_pages(void* object, FieldReader& reader, const Json& value) {
  auto& pages = static_cast<OcrRequestDraft*>(object)->pages;
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

constexpr std::array<std::string_view, 3> kDocumentTypes{"document_url", "image_url", "file"};

constexpr std::string_view kImageUrlSchema =
    R"({"oneOf":[{"type":"string"},{"type":"object","required":["url"],"properties":{"url":{"type":"string"}}}]})";
constexpr std::string_view kPagesSchema =
    R"({"oneOf":[{"type":"array","minItems":1,"items":{"type":"integer","minimum":0,"maximum":999}},)"
    R"({"type":"string","examples":["0-5,7"]},{"type":"null"}]})";

constexpr std::array kDocument{
    Field{.name = "type",
          .text = "Optional",
          .choices = kDocumentTypes,
          .store = into_ocr<&OcrRequestDraft::document_type>},
    Field{.name = "document_url",
          .text = "HTTPS URL, or a data URI `data:<media_type>;base64,<data>`: PDF, PNG, JPEG or WebP, at "
                  "most 50 MB",
          .store = into_ocr<&OcrRequestDraft::document_url>},
    Field{.name = "image_url",
          .type = FieldType::kCustom,
          .text = "The same, for an image",
          .schema = kImageUrlSchema,
          .custom = &read_document_image},
    Field{.name = "document_name",
          .text = "Shown in listings, as the `name` of the job; cut to 255 bytes",
          .store = into_ocr<&OcrRequestDraft::inner_name>},
    Field{.name = "file_id",
          .text = "With type `file`: a document that was uploaded to `/v1/files`",
          .max = 64,
          .store = into_ocr<&OcrRequestDraft::file_id>},
};

constexpr Field kOcrModelField{.name = "model",
                               .text = "`millrace/ocr`, one of its other names, or a provider's OCR model",
                               .min = 1,
                               .max = kOcrModelNameMax,
                               .default_json = "\"vendor-ocr-latest\"",
                               .store = into_ocr<&OcrRequestDraft::model>};
constexpr Field kOcrImagesField{.name = "include_image_base64",
                                .type = FieldType::kBool,
                                .text = "Return embedded images as data URIs",
                                .default_json = "false",
                                .store = into_ocr<&OcrRequestDraft::include_image_base64>};
constexpr Field kOcrNameField{.name = "document_name",
                              .text = "Shown in listings, as the `name` of the job; cut to 255 bytes",
                              .store = into_ocr<&OcrRequestDraft::name>};
constexpr Field kOcrDeferredField{.name = "deferred",
                                  .type = FieldType::kBool,
                                  .text = "Returns 202 with the job at once, like `Prefer: respond-async`",
                                  .default_json = "false",
                                  .store = into_ocr<&OcrRequestDraft::deferred>};

constexpr Field kOcrRunAtField = run_at_field<OcrRequestDraft, &OcrRequestDraft::start>();
constexpr Field kOcrDelayField = delay_field<OcrRequestDraft, &OcrRequestDraft::start>();

using OptionRows = OcrOptionRows<OcrRequestDraft>;

template <std::size_t... kSizes>
constexpr auto joined_rows(const std::array<Field, kSizes>&... tables) {
  std::array<Field, (kSizes + ...)> all{};
  auto at = all.begin();
  ((at = std::copy(tables.begin(), tables.end(), at)), ...);
  return all;
}

constexpr std::array kOcrOwnTable{
    kOcrModelField,
    Field{.name = "document", .type = FieldType::kObject, .required = true, .members = kDocument},
    Field{.name = "pages",
          .type = FieldType::kCustom,
          .text = "Pages to read, counted from 0; absent: all",
          .schema = kPagesSchema,
          .custom = &read_pages},
    kOcrImagesField,
    kOcrNameField,
    Field{.name = "metadata",
          .type = FieldType::kCustom,
          .text = "Texts by which you find the job: `GET /v1/jobs?metadata.KEY=VALUE`",
          .schema = kMetadataSchema,
          .custom = &read_metadata_into<OcrRequestDraft, &OcrRequestDraft::metadata>},
    kOcrDeferredField,
    kOcrRunAtField,
    kOcrDelayField,
};
constexpr auto kOcrTable = joined_rows(kOcrOwnTable, OptionRows::kSimple, OptionRows::kFormats);

void skip_uploaded_document(void*, FieldReader&, const Json&) {}  // the upload has read it

constexpr Field kOcrPagesTextField{.name = "pages",
                                   .text = "Pages to read, counted from 0, such as `0-5,7`; absent: all",
                                   .store = &read_pages};
constexpr Field kOcrMetadataTextField{
    .name = "metadata",
    .type = FieldType::kCustom,
    .text = "Texts by which you find the job, as a JSON object: `GET /v1/jobs?metadata.KEY=VALUE`",
    .schema = kMetadataTextSchema,
    .custom = &read_metadata_text_into<OcrRequestDraft, &OcrRequestDraft::metadata>};

constexpr std::array kOcrOwnForm{
    Field{.name = "file",
          .type = FieldType::kCustom,
          .required = true,
          .text =
              "The document: PDF, PNG, JPEG or WebP, detected by content; at most 50 MB. Its file name is "
              "the `document_name`, if there is none",
          .schema = R"({"type":"string","format":"binary"})",
          .custom = &skip_uploaded_document},
    kOcrModelField,
    kOcrPagesTextField,
    kOcrImagesField,
    kOcrNameField,
    kOcrMetadataTextField,
    kOcrDeferredField,
    kOcrRunAtField,
    kOcrDelayField,
};
constexpr auto kOcrForm = joined_rows(kOcrOwnForm, OptionRows::kSimple, OptionRows::kFormatTexts);
constexpr std::span<const Field> kOcrQuery = std::span(kOcrForm).subspan(1);

FieldProblem at_document(std::string_view field, std::string msg, std::string type) {
  FieldProblem out{
      .loc = {"body", "document"}, .msg = std::move(msg), .type = std::move(type), .input = {}, .ctx = {}};
  if (!field.empty()) out.loc.emplace_back(field);
  return out;
}

struct Source {
  std::string_view field;  // document_url or image_url
  std::string_view url;
};

// The field that has the document; appends to `problems`.
Source source(const OcrRequestDraft& draft, Problems& problems) {
  const bool as_image =
      draft.document_type == "image_url" ||
      (draft.document_type.empty() && draft.document_url.empty() && !draft.image_url.empty());
  const Source out =
      as_image ? Source{"image_url", draft.image_url} : Source{"document_url", draft.document_url};
  if (draft.document_type.empty() && !draft.document_url.empty() && !draft.image_url.empty()) {
    problems.push_back(at_document("", "Give either `document_url` or `image_url`", "value_error"));
  } else if (out.url.empty()) {
    problems.push_back(at_document(out.field, "Field required", "missing"));
  }
  return out;
}

// True: the document is a file; appends to `problems`.
bool take_file(const OcrRequestDraft& draft, OcrRequest& out, Problems& problems) {
  const bool has_url = !draft.document_url.empty() || !draft.image_url.empty();
  const bool is_file =
      draft.document_type == "file" || (draft.document_type.empty() && !draft.file_id.empty());
  if (!is_file && draft.file_id.empty()) return false;
  if (has_url || !is_file) {
    problems.push_back(at_document("", "Give either `file_id` or a URL", "value_error"));
  } else if (draft.file_id.empty()) {
    problems.push_back(at_document("file_id", "Field required", "missing"));
  } else if (out.file = stored_file_id_from(draft.file_id); !out.file) {
    problems.push_back(
        at_document("file_id", "Input should be the id of a file of /v1/files", "value_error"));
  }
  return true;
}

void take_source(const Source& source, OcrRequest& out, Problems& problems) {
  if (has_scheme(source.url, "data:")) {
    const auto base64 = data_uri_base64(source.url);
    out.is_data_uri = true;
    if (base64) {
      out.base64 = *base64;
    } else {
      problems.push_back(at_document(
          source.field, "A data URI should have the form data:<media_type>;base64,<data>", "url_parsing"));
    }
  } else if (source.url.size() > kUrlMax) {
    problems.push_back(at_document(source.field, "URL should have at most 8192 bytes", "url_too_long"));
  } else if (!plausible_url(source.url)) {
    problems.push_back(at_document(
        source.field, "Input should be an HTTPS URL or a data URI data:<media_type>;base64,<data>",
        "url_parsing"));
  } else if (has_credentials(source.url)) {
    problems.push_back(at_document(source.field, "URL should have no user and no password", "url_parsing"));
  } else {
    out.spec.document_url = source.url;
  }
}

// False: the model does not exist.
bool take_model(std::string model, const IsProviderModel& has_provider, OcrRequest& out) {
  out.spec.by_provider = has_provider && has_provider(model);
  out.spec.model = std::move(model);
  return out.spec.by_provider || is_local_ocr_model(out.spec.model);
}

Refusal no_model(const std::string& model) {
  const std::string_view near = base::nearest(model, kModels);
  return {unknown_model(model, near.empty() ? kOcrModel : near), {}};
}

}  // namespace

std::span<const std::string_view> ocr_model_names() { return kModels; }
bool is_local_ocr_model(std::string_view name) {
  return std::find(kModels.begin(), kModels.end(), name) != kModels.end();
}
std::span<const Field> ocr_request_fields() { return kOcrTable; }
std::span<const Field> ocr_form_fields() { return kOcrForm; }
std::span<const Field> ocr_query_fields() { return kOcrQuery; }

namespace {

// Moves what every form of request has. False: the model does not exist.
bool take_draft(OcrRequestDraft draft, std::vector<std::string>& unknown, const IsProviderModel& has_provider,
                OcrRequest& out) {
  out.spec.document_name = job_name(draft.name.empty() ? draft.inner_name : draft.name);
  out.spec.pages = std::move(draft.pages);
  out.spec.include_image_base64 = draft.include_image_base64;
  out.start = draft.start;
  out.deferred = draft.deferred || draft.start;
  out.metadata = std::move(draft.metadata);
  for (std::string& name : unknown) out.dropped.push_back({.name = std::move(name)});
  const bool exists = take_model(std::move(draft.model), has_provider, out);
  if (out.spec.by_provider) {
    if (!draft.options.empty()) out.spec.options = dump(draft.options);
  } else {
    for (std::string& name : requested_ocr_options(draft.options)) out.dropped.push_back({std::move(name)});
  }
  return exists;
}

tl::expected<OcrRequest, Refusal> request_of(OcrRequestDraft draft, Problems problems,
                                             std::vector<std::string>& unknown,
                                             const IsProviderModel& has_provider) {
  if (!problems.empty()) return tl::make_unexpected(invalid(std::move(problems)));
  OcrRequest out;
  if (take_draft(std::move(draft), unknown, has_provider, out)) return out;
  return tl::make_unexpected(no_model(out.spec.model));
}

}  // namespace

tl::expected<OcrRequest, Refusal> parse_ocr_form(const QueryPairs& fields, bool has_file,
                                                 const IsProviderModel& has_provider) {
  QueryPairs pairs = fields;
  std::erase_if(pairs, [](const auto& pair) { return pair.first == kOcrForm.front().name; });
  if (has_file) pairs.emplace_back(kOcrForm.front().name, "present");
  OcrRequestDraft draft;
  std::vector<std::string> unknown;
  Problems problems = read_form(kOcrForm, std::move(pairs), &draft, unknown);
  return request_of(std::move(draft), std::move(problems), unknown, has_provider);
}

tl::expected<OcrRequest, Refusal> parse_ocr_query(const QueryPairs& pairs,
                                                  const IsProviderModel& has_provider) {
  OcrRequestDraft draft;
  std::vector<std::string> unknown;  // of a query, the caller reports them
  Problems problems = read_query(kOcrQuery, pairs, &draft);
  return request_of(std::move(draft), std::move(problems), unknown, has_provider);
}

tl::expected<OcrRequest, Refusal> parse_ocr_request(std::string& body, const IsProviderModel& has_provider) {
  auto read = read_json(body, kJsonValuesMax, Numbers::kExact);
  if (!read) return tl::make_unexpected(Refusal{read.error(), {}});
  OcrRequestDraft draft;
  FieldReader reader("body", *read);
  reader.read(kOcrTable, read->value, &draft);
  Problems& problems = reader.problems();
  OcrRequest out;
  if (problems.empty() && !take_file(draft, out, problems)) {
    const Source from = source(draft, problems);
    if (problems.empty()) take_source(from, out, problems);
  }
  if (!problems.empty()) return tl::make_unexpected(invalid(std::move(problems)));
  if (!take_draft(std::move(draft), reader.unknown(), has_provider, out))
    return tl::make_unexpected(no_model(out.spec.model));
  out.body = std::move(*read);
  return out;
}

tl::expected<OcrRequest, Refusal> read_ocr_request(std::string& body, const IsProviderModel& has_provider) {
  const auto quick = quick_ocr_request(body);
  if (!quick) return parse_ocr_request(body, has_provider);
  OcrRequest out;
  if (!take_model(std::string(quick->model), has_provider, out))
    return tl::make_unexpected(no_model(out.spec.model));
  out.spec.document_name = quick->name;
  out.spec.include_image_base64 = quick->include_image_base64;
  out.base64 = quick->base64;
  out.is_data_uri = true;
  out.deferred = quick->deferred;
  return out;
}

}  // namespace millrace::schemas

#include "schemas/files/multipart_upload.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"
#include "schemas/prefixed_id.h"

namespace millrace::schemas {
namespace {

using std::chrono::seconds;

constexpr std::string_view kUploadPrefix = "upload_", kPartPrefix = "part_";
constexpr std::size_t kMd5Digits = 32;
constexpr std::array<std::string_view, 1> kLifeAnchors{"created_at"};

// The structs that the tables fill.
struct UploadRequestDraft {
  UploadRequest request;
  std::string anchor, mime_type;
  std::int64_t after_seconds = 0;  // 0: not sent
};

constexpr std::array kExpiresAfterFields{
    Field{.name = "anchor",
          .required = true,
          .text = "From when the seconds count",
          .choices = kLifeAnchors,
          .store = &store_in<UploadRequestDraft, &UploadRequestDraft::anchor>},
    Field{.name = "seconds",
          .type = FieldType::kInteger,
          .required = true,
          .text = "The file is deleted so many seconds after the upload was completed",
          .min = seconds(kFileLifeMin).count(),
          .max = seconds(kFileLifeMax).count(),
          .store = &store_in<UploadRequestDraft, &UploadRequestDraft::after_seconds>},
};

void read_purpose(void* object, FieldReader& reader, const Json& value) {
  static constexpr Field kText{.name = "purpose", .min = 1, .max = kPurposeMax};
  if (!reader.check(kText, value)) return;
  const std::string purpose(reader.text(value).value_or(""));
  if (!is_file_purpose(purpose)) return reader.problem(std::string(kPurposeRule), "value_error", &value);
  static_cast<UploadRequestDraft*>(object)->request.purpose = purpose;
}

void read_file_name(void* object, FieldReader& reader, const Json& value) {
  static constexpr Field kText{.name = "filename", .min = 1, .max = kUploadNameMax};
  if (!reader.check(kText, value)) return;
  std::string_view name = reader.text(value).value_or("");
  const std::size_t folder = name.find_last_of("/\\");
  if (folder != std::string_view::npos) name.remove_prefix(folder + 1);
  static_cast<UploadRequestDraft*>(object)->request.name = stored_file_name(name);
}

void read_upload_bytes(void* object, FieldReader& reader, const Json& value) {
  static constexpr Field kNumber{
      .name = "bytes", .type = FieldType::kInteger, .min = 1, .max = kStoredFileBytesMax};
  if (reader.check(kNumber, value))
    assign(reader, value, static_cast<UploadRequestDraft*>(object)->request.bytes);
}

constexpr std::array kUploadRequestFields{
    Field{.name = "purpose",
          .type = FieldType::kCustom,
          .required = true,
          .text = "What the file is for, as a word: see `POST /v1/files`",
          .schema = R"({"type":"string","minLength":1,"maxLength":64})",
          .custom = &read_purpose},
    Field{.name = "filename",
          .type = FieldType::kCustom,
          .required = true,
          .text = "The name of the file",
          .schema = R"({"type":"string","minLength":1,"maxLength":255})",
          .custom = &read_file_name},
    Field{.name = "bytes",
          .type = FieldType::kCustom,
          .required = true,
          .text = "The size of the whole file, at most 512 MiB; its parts have so many bytes together",
          .schema = R"({"type":"integer","minimum":1,"maximum":536870912})",
          .custom = &read_upload_bytes},
    Field{.name = "mime_type",
          .required = true,
          .text = "As OpenAI's API requires it. It is not kept: the ending of the name decides",
          .min = 1,
          .max = 255,
          .store = &store_in<UploadRequestDraft, &UploadRequestDraft::mime_type>},
    Field{.name = "expires_after",
          .type = FieldType::kObject,
          .text = "When the file is deleted; without it, it is kept",
          .members = kExpiresAfterFields},
};
static_assert(kStoredFileBytesMax == 536'870'912, "the schema of `bytes` names it");

void read_part_ids(void* object, FieldReader& reader, const Json& value) {
  if (!reader.is_list(value, 1, kUploadPartsMax)) return;
  std::vector<base::Uuid>& parts = static_cast<UploadCompletion*>(object)->parts;
  std::set<base::Uuid> seen;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const FieldReader::Inside item(reader, i);
    const auto text = reader.text(value[i]);
    const auto id = text ? upload_part_id_from(*text) : std::nullopt;
    if (!id)
      reader.problem("Input should be the id of a part", "value_error", &value[i]);
    else if (!seen.insert(*id).second)
      reader.problem("Input should name each part once", "value_error", &value[i]);
    else
      parts.push_back(*id);
  }
}

void read_md5(void* object, FieldReader& reader, const Json& value) {
  std::string digits(reader.text(value).value_or(""));
  const bool is_md5 = digits.size() == kMd5Digits &&
                      std::ranges::all_of(digits, [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (!is_md5) return reader.problem("Input should be 32 hexadecimal digits", "value_error", &value);
  std::ranges::transform(digits, digits.begin(), [](char c) { return static_cast<char>(c | 0x20); });
  static_cast<UploadCompletion*>(object)->md5_hex = std::move(digits);
}

constexpr std::array kCompletionFields{
    Field{.name = "part_ids",
          .type = FieldType::kCustom,
          .required = true,
          .text = "The parts in the order of the file, at most 1,000, each once",
          .schema = R"({"type":"array","minItems":1,"maxItems":1000,"items":{"type":"string"}})",
          .custom = &read_part_ids},
    Field{.name = "md5",
          .type = FieldType::kCustom,
          .text = "The MD5 of the whole file as 32 hexadecimal digits. A file with another one is refused",
          .schema = R"({"type":"string","pattern":"^[0-9A-Fa-f]{32}$"})",
          .custom = &read_md5},
};
static_assert(kUploadPartsMax == 1'000, "the schema of `part_ids` names it");

void pass_part(void*, FieldReader&, const Json&) {}

constexpr std::array kPartFields{
    Field{.name = kUploadPartField,
          .type = FieldType::kCustom,
          .required = true,
          .text = "The bytes of the part, at most 64 MiB",
          .schema = R"({"type":"string","format":"binary"})",
          .custom = &pass_part},
};

// Reads all of `body` into `out`; returns the names of unknown fields.
tl::expected<std::vector<std::string>, Refusal> read_upload_body(std::string& body,
                                                                 std::span<const Field> table, void* out) {
  const auto read = read_json(body);
  if (!read) return tl::make_unexpected(Refusal{read.error(), {}});
  FieldReader reader("body", *read);
  reader.read(table, read->value, out);
  if (!reader.problems().empty()) return tl::make_unexpected(invalid(std::move(reader.problems())));
  return std::move(reader.unknown());
}

std::string_view status_name(UploadStatus status) {
  switch (status) {
    case UploadStatus::kPending:
      return "pending";
    case UploadStatus::kCompleted:
      return "completed";
    case UploadStatus::kCancelled:
      return "cancelled";
    case UploadStatus::kExpired:
      return "expired";
  }
  return {};
}

std::int64_t upload_seconds(base::WallTime time) {
  return std::chrono::duration_cast<seconds>(time.time_since_epoch()).count();
}

}  // namespace

std::optional<base::Uuid> upload_id_from(std::string_view text) { return uuid_after(kUploadPrefix, text); }
std::string upload_id(const base::Uuid& id) { return prefixed_id(kUploadPrefix, id); }
std::optional<base::Uuid> upload_part_id_from(std::string_view text) { return uuid_after(kPartPrefix, text); }
std::string upload_part_id(const base::Uuid& id) { return prefixed_id(kPartPrefix, id); }

std::string multipart_upload_json(const MultipartUpload& upload, const StoredFile* file) {
  return JsonObject()
      .member("id", upload_id(upload.id))
      .member("object", "upload")
      .number("bytes", upload.bytes)
      .number("created_at", upload_seconds(upload.created_at))
      .number("expires_at", upload_seconds(upload.expires_at))
      .member("filename", upload.name)
      .member("purpose", upload.purpose)
      .member("status", status_name(upload.status))
      .raw("file", file != nullptr ? stored_file_json(*file) : "null")
      .finish();
}

std::string upload_part_json(const UploadPart& part) {
  return JsonObject()
      .member("id", upload_part_id(part.id))
      .member("object", "upload.part")
      .number("created_at", upload_seconds(part.created_at))
      .member("upload_id", upload_id(part.upload))
      .finish();
}

std::span<const Field> upload_request_fields() { return kUploadRequestFields; }
std::span<const Field> upload_completion_fields() { return kCompletionFields; }
std::span<const Field> upload_part_fields() { return kPartFields; }

tl::expected<UploadRequest, Refusal> parse_upload_request(std::string& body) {
  UploadRequestDraft draft;
  auto unknown = read_upload_body(body, kUploadRequestFields, &draft);
  if (!unknown) return tl::make_unexpected(std::move(unknown.error()));
  if (draft.after_seconds != 0) draft.request.file_life = seconds(draft.after_seconds);
  draft.request.unknown = *std::move(unknown);
  return std::move(draft.request);
}

tl::expected<UploadCompletion, Refusal> parse_upload_completion(std::string& body) {
  UploadCompletion completion;
  auto unknown = read_upload_body(body, kCompletionFields, &completion);
  if (!unknown) return tl::make_unexpected(std::move(unknown.error()));
  completion.unknown = *std::move(unknown);
  return completion;
}

}  // namespace millrace::schemas

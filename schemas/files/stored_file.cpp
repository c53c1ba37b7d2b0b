#include "schemas/files/stored_file.h"

#include <array>
#include <utility>

#include "schemas/json/broken_json.h"
#include "schemas/json/json_text.h"
#include "schemas/machines/artifact.h"
#include "schemas/prefixed_id.h"

namespace millrace::schemas {
namespace {

using std::chrono::seconds;

constexpr std::string_view kFilePrefix = "file-";
constexpr std::int64_t kSecondsMin = seconds(kFileLifeMin).count(),
                       kSecondsMax = seconds(kFileLifeMax).count();
constexpr std::string_view kAnchor = "expires_after[anchor]", kAfterSeconds = "expires_after[seconds]";
constexpr std::string_view kExpiry = "expiry";

// The struct that the table fills.
struct FileUploadDraft {
  std::string purpose, anchor;
  std::int64_t after_seconds = 0, expiry_hours = 0;  // 0: not sent
};
template <auto Member>
constexpr auto into_upload = &store_in<FileUploadDraft, Member>;

void pass_binary(void*, FieldReader&, const Json&) {}

constexpr std::array<std::string_view, 1> kAnchors{"created_at"};

constexpr std::array kUploadFields{
    Field{.name = kStoredFileField,
          .type = FieldType::kCustom,
          .required = true,
          .text = "The file, of any type, at most 512 MiB",
          .schema = R"({"type":"string","format":"binary"})",
          .custom = &pass_binary},
    Field{.name = "purpose",
          .text = "What the file is for, as a word: `batch` for the requests of a batch; `ocr`, `vision`, "
                  "`user_data`, "
                  "`assistants` and others are kept as they are",
          .min = 1,
          .max = kPurposeMax,
          .default_json = R"("user_data")",
          .store = into_upload<&FileUploadDraft::purpose>},
    Field{.name = kAnchor,
          .text = "OpenAI's `expires_after`: from when its seconds count",
          .choices = kAnchors,
          .store = into_upload<&FileUploadDraft::anchor>},
    Field{.name = kAfterSeconds,
          .type = FieldType::kInteger,
          .text = "The file is deleted so many seconds after it was uploaded; without it, it is kept",
          .min = kSecondsMin,
          .max = kSecondsMax,
          .store = into_upload<&FileUploadDraft::after_seconds>},
    Field{.name = kExpiry,
          .type = FieldType::kInteger,
          .text = "Mistral's form of the same, in hours",
          .min = kSecondsMin / 3600,
          .max = kSecondsMax / 3600,
          .store = into_upload<&FileUploadDraft::expiry_hours>},
};

FieldProblem wrong(std::string_view field, std::string msg, std::string type) {
  return {.loc = {"body", std::string(field)},
          .msg = std::move(msg),
          .type = std::move(type),
          .input = {},
          .ctx = {}};
}

// Mistral's word for what a file contains.
std::string_view sample_type(std::string_view purpose) {
  if (purpose == "batch") return "batch_request";
  if (purpose == "batch_output") return "batch_result";
  return purpose == "ocr" ? "ocr_input" : "instruct";
}

std::int64_t unix_seconds(base::WallTime time) {
  return std::chrono::duration_cast<seconds>(time.time_since_epoch()).count();
}

}  // namespace

std::optional<base::Uuid> stored_file_id_from(std::string_view text) { return uuid_after(kFilePrefix, text); }

std::string stored_file_id(const base::Uuid& id) { return prefixed_id(kFilePrefix, id); }

bool is_file_purpose(std::string_view text) {
  for (const char c : text) {
    const bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.';
    if (!good) return false;
  }
  return true;
}

std::string stored_file_name(std::string_view given) {
  std::string name = repair_utf8(given);
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = ' ';
  }
  return name.empty() ? "file" : name;
}

std::string stored_file_json(const StoredFile& file) {
  JsonObject out;
  out.member("id", stored_file_id(file.id))
      .member("object", "file")
      .number("bytes", file.bytes)
      .number("created_at", unix_seconds(file.created_at));
  file.expires_at ? out.number("expires_at", unix_seconds(*file.expires_at)) : out.raw("expires_at", "null");
  return out.member("filename", file.name)
      .member("purpose", file.purpose)
      .member("status", "processed")
      .member("source", "upload")
      .member("sample_type", sample_type(file.purpose))
      .member("mimetype", mime_type_of(file.name))
      .member("sha256", file.sha256_hex)
      .flag("deleted", false)
      .finish();
}

std::string deleted_file_json(const base::Uuid& id) {
  return JsonObject()
      .member("id", stored_file_id(id))
      .member("object", "file")
      .flag("deleted", true)
      .finish();
}

std::span<const Field> file_upload_fields() { return kUploadFields; }

tl::expected<FileUpload, Refusal> parse_file_upload(QueryPairs fields, bool has_file) {
  if (has_file) fields.emplace_back(kStoredFileField, "sent");
  FileUploadDraft draft{.purpose = "user_data", .anchor = {}};
  std::vector<std::string> unknown;
  Problems problems = read_form(kUploadFields, std::move(fields), &draft, unknown);
  if (problems.empty() && !is_file_purpose(draft.purpose))
    problems.push_back(wrong("purpose", std::string(kPurposeRule), "value_error"));
  if (problems.empty() && !draft.anchor.empty() && draft.after_seconds == 0)
    problems.push_back(wrong(kAfterSeconds, "Field required", "missing"));
  if (problems.empty() && draft.after_seconds != 0 && draft.expiry_hours != 0)
    problems.push_back(wrong(kExpiry, "Send either this or `expires_after`", "value_error"));
  if (!problems.empty()) return tl::make_unexpected(invalid(std::move(problems)));
  FileUpload upload{.purpose = std::move(draft.purpose), .life = {}};
  if (draft.after_seconds != 0) upload.life = seconds(draft.after_seconds);
  if (draft.expiry_hours != 0) upload.life = std::chrono::hours(draft.expiry_hours);
  return upload;
}

}  // namespace millrace::schemas

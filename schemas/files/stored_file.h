#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "schemas/error_body.h"
#include "schemas/field.h"

// Files that clients upload once and name in later requests, in the shapes of OpenAI's and Mistral's files.
namespace millrace::schemas {

inline constexpr std::int64_t kStoredFileBytesMax = std::int64_t{512} << 20;
inline constexpr std::string_view kStoredFileField = "file";
inline constexpr std::int64_t kPurposeMax = 64;  // bytes
inline constexpr std::chrono::hours kFileLifeMin{1};
inline constexpr std::chrono::days kFileLifeMax{3650};
inline constexpr int kFilePageMax = 1'000;

struct StoredFile {
  base::Uuid id;
  std::string purpose;  // a word of the client: "batch", "ocr", …
  std::string name;     // as the client sent it, without folders
  std::int64_t bytes = 0;
  std::string sha256_hex;
  base::WallTime created_at{};
  std::optional<base::WallTime> expires_at;
};

// "file-" and a lower-case UUID.
std::optional<base::Uuid> stored_file_id_from(std::string_view text);
std::string stored_file_id(const base::Uuid& id);

// The members of OpenAI's and of Mistral's file object together, as JSON text.
std::string stored_file_json(const StoredFile& file);
// The reply to a deletion.
std::string deleted_file_json(const base::Uuid& id);

// The name of a file as it is kept: what is not UTF-8 becomes U+FFFD, control characters become spaces. Never
// empty.
std::string stored_file_name(std::string_view given);

// A purpose is one word of letters, digits, '_', '-' and '.'. The length is checked elsewhere.
bool is_file_purpose(std::string_view text);
inline constexpr std::string_view kPurposeRule =
    "Input should be a word of letters, digits, '_', '-' and '.'";

// The form of an upload, without the file.
struct FileUpload {
  std::string purpose;
  std::optional<std::chrono::seconds> life;
};
std::span<const Field> file_upload_fields();
tl::expected<FileUpload, Refusal> parse_file_upload(QueryPairs fields, bool has_file);

}  // namespace millrace::schemas

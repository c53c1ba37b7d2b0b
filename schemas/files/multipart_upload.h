#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "schemas/error_body.h"
#include "schemas/field.h"
#include "schemas/files/stored_file.h"

// Files that clients upload in parts, in the shapes of OpenAI's uploads.
namespace millrace::schemas {

inline constexpr std::int64_t kUploadPartBytesMax = std::int64_t{64} << 20;
inline constexpr std::string_view kUploadPartField = "data";
inline constexpr std::int64_t kUploadPartsMax = 1'000;  // of one upload
// The parts of an upload have at most this many times its bytes together: a client may repeat each of them.
inline constexpr std::int64_t kUploadPartsFactor = 2;
inline constexpr std::int64_t kPendingUploadsMax = 100;  // of one tenant
inline constexpr std::chrono::hours kUploadLife{1};      // from its creation until it expires
inline constexpr std::int64_t kUploadNameMax = 255;      // bytes

// Stored as a number.
enum class UploadStatus : std::uint8_t { kPending = 0, kCompleted = 1, kCancelled = 2, kExpired = 3 };

struct MultipartUpload {
  base::Uuid id;
  std::string purpose;
  std::string name;
  std::int64_t bytes = 0;  // of the whole file
  UploadStatus status = UploadStatus::kPending;
  base::WallTime created_at{}, expires_at{};
  std::optional<std::chrono::seconds> file_life{};  // of the file, from its creation
};

struct UploadPart {
  base::Uuid id;
  base::Uuid upload;
  base::WallTime created_at{};
};

// "upload_" and "part_", each with a lower-case UUID.
std::optional<base::Uuid> upload_id_from(std::string_view text);
std::string upload_id(const base::Uuid& id);
std::optional<base::Uuid> upload_part_id_from(std::string_view text);
std::string upload_part_id(const base::Uuid& id);

// OpenAI's upload object as JSON text. `file`: of a completed one.
std::string multipart_upload_json(const MultipartUpload& upload, const StoredFile* file = nullptr);
std::string upload_part_json(const UploadPart& part);

// POST /v1/uploads.
struct UploadRequest {
  std::string purpose, name;
  std::int64_t bytes = 0;
  std::optional<std::chrono::seconds> file_life{};
  std::vector<std::string> unknown{};  // fields that are ignored
};
std::span<const Field> upload_request_fields();
// `body`: see read_json. Errors: kBadRequest (JSON), kInvalidField with its problems.
tl::expected<UploadRequest, Refusal> parse_upload_request(std::string& body);

// POST /v1/uploads/{id}/complete.
struct UploadCompletion {
  std::vector<base::Uuid> parts;       // each once, in their order
  std::string md5_hex{};               // lower case; empty: not sent
  std::vector<std::string> unknown{};  // fields that are ignored
};
std::span<const Field> upload_completion_fields();
tl::expected<UploadCompletion, Refusal> parse_upload_completion(std::string& body);

// The form of POST /v1/uploads/{id}/parts, for the schema.
std::span<const Field> upload_part_fields();

}  // namespace millrace::schemas

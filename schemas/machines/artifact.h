#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/clock.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"
#include "schemas/jobs/job.h"

// Files that a command has written to $MILLRACE_ARTIFACTS (docs/design/http-contract.md §1).
namespace millrace::schemas {

inline constexpr int kArtifactsMax = 100;                                   // per execution
inline constexpr std::int64_t kArtifactBytesMax = std::int64_t{100} << 20;  // each
inline constexpr std::size_t kArtifactNameMax = 1024;  // bytes of its path below the folder

struct Artifact {
  base::Uuid id;
  base::Uuid machine;
  JobId execution;
  std::string name;  // its path below the folder, UTF-8: "report/index.html"
  std::int64_t bytes = 0;
  std::string mime_type;
  base::Sha256Digest sha256{};
  base::WallTime created_at{};
  std::optional<base::WallTime> expires_at;  // when the execution's record expires
};

// "art-" and a lower-case UUID.
std::optional<base::Uuid> artifact_id_from(std::string_view text);
std::string artifact_id(const base::Uuid& id);

// The media type by the name's extension; "application/octet-stream" for unknown extensions.
std::string_view mime_type_of(std::string_view name);

// A note for the client: "2 files were not kept: WHY".
std::string files_not_kept(int count, std::string_view why);
inline constexpr std::string_view kStoredBytesReached =
    "the limit `stored_bytes` of the tenant or the API key is reached";

// The artifact resource as JSON text. `content_url`: the URL of its content.
std::string artifact_json(const Artifact& artifact, std::string_view content_url);

}  // namespace millrace::schemas

#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "app/cli/client.h"
#include "app/cli/files/upload_source.h"
#include "app/cli/interrupt.h"

namespace millrace::cli {

struct LargeFile {
  std::string name;     // without folders
  std::string purpose;  // empty: user_data
  std::optional<int> expire_hours;
};

// Uploads a large file in parts (/v1/uploads). A request that fails for a reason that may pass is sent again
// with the same Idempotency-Key, so that only the part that broke off is repeated. Shows its progress on
// stderr. If it fails in the end, or is interrupted, the upload is cancelled. Blocks. The response has the
// upload, with its file. `client` has `interrupt`.
Client::Response upload_in_parts(Client& client, Interrupt& interrupt, const UploadSource& source,
                                 const LargeFile& file);

}  // namespace millrace::cli

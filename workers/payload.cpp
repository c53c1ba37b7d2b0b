#include "workers/payload.h"

#include <utility>

#include "storage/job_intake.h"

namespace millrace::workers {

base::Result<storage::Staged> stage(storage::Blobs& blobs, std::string_view bytes) {
  auto writer = blobs.begin(static_cast<std::int64_t>(bytes.size()));
  if (!writer) return writer.error();
  if (auto written = (*writer)->append(bytes); !written) return written.error();
  return (*writer)->finish();
}

base::Result<storage::Payload> payload_of(storage::Blobs& blobs, std::string bytes) {
  if (bytes.size() <= storage::kInlineMax) return storage::Payload{std::move(bytes), nullptr};
  auto staged = stage(blobs, bytes);
  if (!staged) return staged.error();
  return storage::Payload{{}, std::move(*staged)};
}

base::Result<std::string> bytes_of(const storage::Blobs& blobs, storage::StoredPayload payload) {
  if (!payload.blob) return std::move(payload.bytes);
  return blobs.read(*payload.blob);
}

}  // namespace millrace::workers

#include "workers/payload.h"

#include <utility>

namespace millrace::workers {

base::Result<storage::Staged> stage(storage::Blobs& blobs, std::string_view bytes) {
  auto writer = blobs.begin(static_cast<std::int64_t>(bytes.size()));
  if (!writer) return writer.error();
  if (auto written = (*writer)->append(bytes); !written) return written.error();
  return (*writer)->finish();
}

base::Result<std::string> bytes_of(const storage::Blobs& blobs, storage::StoredPayload payload) {
  if (!payload.blob) return std::move(payload.bytes);
  return blobs.read(*payload.blob);
}

base::Status PayloadWriter::append(std::string_view bytes) {
  if (blob_) return blob_->append(bytes);
  if (inline_.size() + bytes.size() <= storage::kInlineMax) {
    inline_ += bytes;
    return {};
  }
  auto begun = blobs_.begin(expected_bytes_);
  if (!begun) return begun.error();
  blob_ = std::move(*begun);
  if (auto written = blob_->append(inline_); !written) return written;
  inline_.clear();
  return blob_->append(bytes);
}

base::Result<storage::Payload> PayloadWriter::finish() {
  if (!blob_) return storage::Payload{std::move(inline_), nullptr};
  auto staged = blob_->finish();
  if (!staged) return staged.error();
  return storage::Payload{{}, std::move(*staged)};
}

}  // namespace millrace::workers

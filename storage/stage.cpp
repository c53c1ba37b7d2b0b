#include "storage/stage.h"

namespace millrace::storage {
namespace {

base::Result<Staged> staged(base::Result<std::unique_ptr<BlobWriter>> writer, std::string_view bytes) {
  if (!writer) return writer.error();
  if (auto written = (*writer)->append(bytes); !written) return written.error();
  return (*writer)->finish();
}

}  // namespace

base::Result<Staged> stage(Blobs& blobs, std::string_view bytes) {
  return staged(blobs.begin(static_cast<std::int64_t>(bytes.size())), bytes);
}

base::Result<Staged> stage_owed(Blobs& blobs, std::string_view bytes) {
  return staged(blobs.begin_owed(static_cast<std::int64_t>(bytes.size())), bytes);
}

}  // namespace millrace::storage

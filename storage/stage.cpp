#include "storage/stage.h"

namespace millrace::storage {

base::Result<Staged> stage(Blobs& blobs, std::string_view bytes) {
  auto writer = blobs.begin(static_cast<std::int64_t>(bytes.size()));
  if (!writer) return writer.error();
  if (auto written = (*writer)->append(bytes); !written) return written.error();
  return (*writer)->finish();
}

}  // namespace millrace::storage

#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "storage/blobs/blobs.h"
#include "storage/jobs/job_outcomes.h"
#include "storage/jobs/job_queries.h"

namespace millrace::workers {

// Reads a stored payload into memory. All functions here block on the disk. kOverloaded: the disk is full,
// retry.
base::Result<std::string> read_payload(const storage::Blobs& blobs, storage::StoredPayload payload);

// Returns a second descriptor of the same file. kOverloaded: the process is out of descriptors.
base::Result<base::Fd> duplicate_descriptor(const storage::OpenFile& file);
// Appends the first `bytes` bytes of a file. kInternal: the file is shorter.
base::Status append_file(std::string& out, int fd, std::uint64_t bytes);

// Writes a payload piece by piece without holding all of it in memory. Up to storage::kInlineMax it stays
// inline; above, it becomes a blob. If it is destroyed before `finish`, no file remains.
class PayloadWriter {
 public:
  // `expected_bytes`: an upper bound of the size; that much disk space must be free.
  PayloadWriter(storage::Blobs& blobs, std::int64_t expected_bytes)
      : blobs_(blobs), expected_bytes_(expected_bytes) {}
  base::Status append(std::string_view bytes);
  base::Result<storage::Payload> finish();

 private:
  storage::Blobs& blobs_;
  std::int64_t expected_bytes_;
  std::string inline_;
  std::unique_ptr<storage::BlobWriter> blob_;
};

}  // namespace millrace::workers

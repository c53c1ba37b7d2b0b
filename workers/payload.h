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

// Bytes as a store move takes them. All of these block on the disk. kOverloaded: the disk is full, try again.
base::Result<std::string> bytes_of(const storage::Blobs& blobs, storage::StoredPayload payload);

// A descriptor of its own on the same file. kOverloaded: none is left.
base::Result<base::Fd> own_descriptor(const storage::OpenFile& file);
// Appends a file of that many bytes, from its beginning. kInternal: it has fewer.
base::Status append_file(std::string& out, int fd, std::uint64_t bytes);

// A payload that is made piece by piece and never held as a whole: inline, or a blob once it is above
// storage::kInlineMax. Dropped before `finish`, it leaves no file.
class PayloadWriter {
 public:
  // `expected_bytes`: at least what will come; the disk must have it.
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

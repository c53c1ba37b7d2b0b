#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "platform/base/result.h"
#include "storage/blobs/blobs.h"
#include "storage/s3/client.h"

namespace millrace::s3 {

struct Bucket {
  Location location;
  Credentials credentials;
  Bounds bounds = {};
};

struct BlobCopy {
  std::int64_t copied = 0;
  std::int64_t present = 0;         // the target has them already, with the right SHA-256
  std::int64_t bytes = 0;           // of both
  std::vector<std::string> unread;  // missing or damaged in the source: the path and the reason
};

struct BlobCopyProgress {
  std::int64_t done = 0, total = 0, bytes = 0;
};
using BlobsCopied = std::function<void(const BlobCopyProgress&)>;

// Both functions copy the content of `blobs` between the blob folder of a data directory and a bucket. The
// SHA-256 of each one is checked: of what is read, by the server of what is sent, and of what is there
// already. So a copy that was interrupted is repeated, and does only what is missing. They delete nothing.
// They block; `progress` is called about once a second, on threads of their own.
//
// An error is one of the target, or of the connection. Before it, other blobs may have been copied.

// A blob without a local file counts as present if its object is right.
base::Result<BlobCopy> copy_blobs_to_bucket(const std::vector<storage::BlobRef>& blobs,
                                            const std::string& folder, const Bucket& bucket,
                                            const BlobsCopied& progress);

// Refuses if less than `disk_free_min_bytes` would be free afterwards.
base::Result<BlobCopy> copy_blobs_from_bucket(const std::vector<storage::BlobRef>& blobs,
                                              const std::string& folder, std::int64_t disk_free_min_bytes,
                                              const Bucket& bucket, const BlobsCopied& progress);

}  // namespace millrace::s3

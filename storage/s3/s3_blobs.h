#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "platform/base/result.h"
#include "storage/blobs/blobs.h"
#include "storage/s3/client.h"

namespace millrace::s3 {

// The largest object that S3 takes in one request.
inline constexpr std::int64_t kObjectBytesMax = std::int64_t{5} << 30;

struct Options {
  Location location;
  Credentials credentials;
  std::int64_t cache_bytes_max = std::int64_t{10} << 30;
  // Objects younger than this are never collected as orphans: another host may have stored them for a row
  // that it has not committed yet.
  std::chrono::milliseconds orphan_age_min = std::chrono::hours(24);
  // A staged blob that is older than this has expired. Far below orphan_age_min, so that no row ever
  // references what another host collects.
  std::chrono::milliseconds staged_age_max = std::chrono::hours(1);
  Bounds bounds = {};
};

// Blobs in S3-compatible storage; the key of an object is the prefix and BlobRef::path. A blob is first
// written to `folder`/staging, then stored and verified; only then `finish` returns it. `open` returns a file
// of the cache in `folder`/cache. Every method but StagedBlob's destructor and `unlink` blocks on the disk
// and the network. What was removed is gone for this process at once; its object is removed in the
// background.
//
// Checks the key and the bucket: an error says which setting to correct. If the server cannot be reached,
// logs a warning and succeeds.
base::Result<std::unique_ptr<storage::Blobs>> open_s3_blobs(const std::string& folder,
                                                            std::int64_t disk_free_min_bytes,
                                                            Options options);

// Blobs::claim without opening them; kOverloaded: the server cannot be reached.
base::Status claim_bucket(const Location& location, const Credentials& credentials, const std::string& owner);
// Makes `owner` (Blobs::claim) the owner of the objects, whoever it was.
base::Status take_bucket(const Location& location, const Credentials& credentials, const std::string& owner);

// What Client::check finds.
BucketCheck check_bucket(const Location& location, const Credentials& credentials);

}  // namespace millrace::s3

#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "app/config/key_source.h"
#include "platform/base/config.h"
#include "storage/s3/location.h"
#include "storage/s3/signature.h"
#include "storage/store.h"

namespace millrace::app {

// The settings blobs.*.
struct BlobSettings {
  s3::Location location;
  s3::Credentials credentials;
  std::int64_t cache_bytes_max = 0;
};

// Empty: blobs.url is not set, or a mistake was added. Half a configuration is a mistake. No message has a
// key.
std::optional<BlobSettings> read_blob_settings(const base::Config& config, const KeySource& keys,
                                               std::vector<base::ConfigMistake>& mistakes);

// How a store opens its blobs with these settings.
storage::Store::OpenBlobs blob_opener(const std::optional<BlobSettings>& settings);

}  // namespace millrace::app

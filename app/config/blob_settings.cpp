#include "app/config/blob_settings.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "storage/s3/s3_blobs.h"

namespace millrace::app {
namespace {

constexpr std::array kWithUrl = {"blobs.endpoint", "blobs.access_key", "blobs.secret_key"};

using BlobMistakes = std::vector<base::ConfigMistake>;

bool is_region(const std::string& text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

base::Secret read_blob_key(const base::Config& config, const char* path, const KeySource& keys,
                           BlobMistakes& mistakes) {
  auto key = keys.read(config.text(path));
  if (key) return *std::move(key);
  mistakes.push_back({config.origin(path), std::string(path) + ": " + key.error().message});
  return {};
}

}  // namespace

std::optional<BlobSettings> read_blob_settings(const base::Config& config, const KeySource& keys,
                                               BlobMistakes& mistakes) {
  const std::size_t before = mistakes.size();
  if (!is_region(config.text("blobs.region")))
    mistakes.push_back({config.origin("blobs.region"), "blobs.region: must be a name such as us-east-1"});
  const bool has_url = config.is_set("blobs.url");
  for (const char* path : kWithUrl) {
    if (config.is_set(path) == has_url) continue;
    has_url
        ? mistakes.push_back({config.origin("blobs.url"), std::string("blobs.url: needs ") + path + " too"})
        : mistakes.push_back({config.origin(path), std::string(path) + ": has no effect without blobs.url"});
  }
  if (!has_url) return std::nullopt;
  auto location = s3::parse_location(config.text("blobs.url"), config.text("blobs.endpoint"));
  if (!location && (config.is_set(location.error().param)))
    mistakes.push_back({config.origin(location.error().param), location.error().message});
  if (mistakes.size() > before) return std::nullopt;
  BlobSettings out{.location = *std::move(location),
                   .credentials = {.region = config.text("blobs.region"),
                                   .access_key = read_blob_key(config, "blobs.access_key", keys, mistakes),
                                   .secret_key = read_blob_key(config, "blobs.secret_key", keys, mistakes)},
                   .cache_bytes_max = config.bytes("blobs.cache")};
  if (mistakes.size() > before) return std::nullopt;
  return out;
}

storage::Store::OpenBlobs blob_opener(const std::optional<BlobSettings>& settings) {
  if (!settings) return &storage::open_file_blobs;
  return [settings = *settings](const std::string& folder, std::int64_t disk_free_min_bytes) {
    return s3::open_s3_blobs(folder, disk_free_min_bytes,
                             {.location = settings.location,
                              .credentials = settings.credentials,
                              .cache_bytes_max = settings.cache_bytes_max});
  };
}

}  // namespace millrace::app

#include "schemas/machines/artifact.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schemas/json/json_text.h"
#include "schemas/machines/machine.h"
#include "schemas/prefixed_id.h"

namespace millrace::schemas {
namespace {

constexpr std::string_view kArtifactPrefix = "art-";

struct Ending {
  std::string_view ending, type;
};
// Sorted by extension; the types are IANA's where IANA has one.
constexpr std::array kEndings = std::to_array<Ending>({
    {"7z", "application/x-7z-compressed"},
    {"avif", "image/avif"},
    {"bmp", "image/bmp"},
    {"bz2", "application/x-bzip2"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"epub", "application/epub+zip"},
    {"flac", "audio/flac"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"ico", "image/vnd.microsoft.icon"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"jsonl", "application/jsonl"},
    {"log", "text/plain"},
    {"m4a", "audio/mp4"},
    {"md", "text/markdown"},
    {"mjs", "text/javascript"},
    {"mkv", "video/matroska"},
    {"mov", "video/quicktime"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"odt", "application/vnd.oasis.opendocument.text"},
    {"ogg", "audio/ogg"},
    {"opus", "audio/ogg"},
    {"parquet", "application/vnd.apache.parquet"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"sql", "application/sql"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tgz", "application/gzip"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"toml", "application/toml"},
    {"tsv", "text/tab-separated-values"},
    {"txt", "text/plain"},
    {"wasm", "application/wasm"},
    {"wav", "audio/vnd.wave"},
    {"webm", "video/webm"},
    {"webp", "image/webp"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "application/xml"},
    {"xz", "application/x-xz"},
    {"yaml", "application/yaml"},
    {"yml", "application/yaml"},
    {"zip", "application/zip"},
    {"zst", "application/zstd"},
});
static_assert(std::ranges::is_sorted(kEndings, {}, &Ending::ending));

// The extension of the last path part, in lower case; empty: there is none.
std::string ending_of(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {};
  std::string ending(name.substr(dot + 1));
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return ending;
}

}  // namespace

std::optional<base::Uuid> artifact_id_from(std::string_view text) {
  return uuid_after(kArtifactPrefix, text);
}

std::string artifact_id(const base::Uuid& id) { return prefixed_id(kArtifactPrefix, id); }

std::string_view mime_type_of(std::string_view name) {
  const std::string ending = ending_of(name);
  const auto* found = std::ranges::lower_bound(kEndings, ending, {}, &Ending::ending);
  if (found == kEndings.end() || found->ending != ending) return "application/octet-stream";
  return found->type;
}

std::string files_not_kept(int count, std::string_view why) {
  const std::string files = count == 1 ? "1 file was" : std::to_string(count) + " files were";
  return files + " not kept: " + std::string(why);
}

std::string artifact_json(const Artifact& artifact, std::string_view content_url) {
  JsonObject out;
  out.member("artifact_id", artifact_id(artifact.id))
      .member("machine_id", machine_id(artifact.machine))
      .member("execution_id", artifact.execution.str())
      .member("name", artifact.name)
      .number("size_bytes", artifact.bytes)
      .member("mime_type", artifact.mime_type)
      .member("sha256", base::hex(artifact.sha256))
      .member("created_at", base::rfc3339(artifact.created_at));
  if (artifact.expires_at) out.member("expires_at", base::rfc3339(*artifact.expires_at));
  return out.member("download_url", content_url).finish();
}

}  // namespace millrace::schemas

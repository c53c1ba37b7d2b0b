#include "storage/s3/replies.h"

#include <array>
#include <chrono>
#include <utility>

namespace millrace::s3 {
namespace {

std::string without_entities(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> kEntities{
      {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string out;
  while (!text.empty()) {
    bool found = false;
    for (const auto& [entity, c] : kEntities) {
      if (!text.starts_with(entity)) continue;
      out += c;
      text.remove_prefix(entity.size());
      found = true;
      break;
    }
    if (found) continue;
    out += text.front();
    text.remove_prefix(1);
  }
  return out;
}

// The raw content of the first element `name` at or after `at`; `at` moves behind it. False: there is none.
bool next_element(std::string_view xml, const std::string& name, std::size_t& at, std::string_view& content) {
  const std::string open = "<" + name + ">", close = "</" + name + ">";
  const std::size_t begin = xml.find(open, at);
  if (begin == std::string_view::npos) return false;
  const std::size_t end = xml.find(close, begin);
  if (end == std::string_view::npos) return false;
  content = xml.substr(begin + open.size(), end - begin - open.size());
  at = end + close.size();
  return true;
}

struct KnownError {
  std::string_view code, message;
};
constexpr std::array kKnownErrors = {
    KnownError{"NoSuchBucket", "the bucket of blobs.url does not exist"},
    KnownError{"InvalidAccessKeyId", "the object store does not know the key of blobs.access_key"},
    KnownError{
        "SignatureDoesNotMatch",
        "the object store refuses the signature: blobs.secret_key does not belong to blobs.access_key"},
    KnownError{"AccessDenied", "the key of blobs.access_key has no permission for the bucket of blobs.url"},
    KnownError{"RequestTimeTooSkewed", "this host's clock differs too much from that of blobs.endpoint"},
    KnownError{"AuthorizationHeaderMalformed", "the object store refuses blobs.region"},
    KnownError{"EntityTooLarge", "the object store of blobs.endpoint refuses an object of this size"},
};

std::string reason(int status, const std::string& code) {
  for (const KnownError& known : kKnownErrors) {
    if (code == known.code) return std::string(known.message);
  }
  if (status == 403) return "the object store refuses the key of blobs.access_key and blobs.secret_key";
  std::string text = "the object store of blobs.endpoint answered with status " + std::to_string(status);
  return code.empty() ? text : text + " (" + code + ")";
}

}  // namespace

std::string element_text(std::string_view xml, std::string_view name) {
  std::size_t at = 0;
  std::string_view content;
  return next_element(xml, std::string(name), at, content) ? without_entities(content) : std::string();
}

Listing parse_listing(std::string_view xml) {
  Listing out;
  std::size_t at = 0;
  std::string_view content;
  while (next_element(xml, "Contents", at, content)) {
    base::WallTime modified;
    if (base::parse_rfc3339(element_text(content, "LastModified"), modified))
      out.objects.push_back({element_text(content, "Key"), modified});
  }
  if (element_text(xml, "IsTruncated") == "true") out.next = element_text(xml, "NextContinuationToken");
  return out;
}

base::Error reply_error(int status, std::string_view xml) {
  std::string code = element_text(xml, "Code");
  if (code.size() > 64) code.resize(64);
  if (status == 404 && code != "NoSuchBucket")
    return base::error(base::Code::kNotFound, "the stored file no longer exists");
  base::Error e = base::error(base::Code::kOverloaded, reason(status, code));
  e.retry_after = std::chrono::seconds(30);
  return e;
}

}  // namespace millrace::s3

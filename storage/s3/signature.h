#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/crypto.h"

namespace millrace::s3 {

struct Credentials {
  std::string region;
  base::Secret access_key, secret_key;
};

// The parts of a request that its signature covers.
struct SignedParts {
  std::string method;
  std::string host;                          // with its port, unless that is the scheme's
  std::string path;                          // absolute, not encoded
  std::map<std::string, std::string> query;  // not encoded
  std::string payload_sha256_hex;
  std::map<std::string, std::string> headers = {};  // additional ones; names in lower case
};

using HeaderPairs = std::vector<std::pair<std::string, std::string>>;

// AWS Signature Version 4 for the service "s3". Returns all headers of the request except Host: those of
// `parts`, x-amz-content-sha256, x-amz-date and Authorization.
HeaderPairs sign(const SignedParts& parts, const Credentials& credentials, base::WallTime now);

// The form of a SHA-256 in headers of S3.
std::string base64_of_hex(std::string_view hex);

// Percent-encodes all bytes except A-Z, a-z, 0-9, '-', '.', '_', '~' and, if `keeps_slash`, '/'.
std::string uri_encoded(std::string_view text, bool keeps_slash = false);
// "a=1&b=2", encoded and in the order of the names: the form that is signed and sent.
std::string query_text(const std::map<std::string, std::string>& query);

}  // namespace millrace::s3

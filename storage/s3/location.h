#pragma once
#include <string>

#include "platform/base/result.h"

namespace millrace::s3 {

// Where the objects are.
struct Location {
  std::string endpoint;  // "https://s3.example" without a path
  std::string host;      // of the endpoint, as the header Host has it
  std::string bucket;
  std::string prefix;  // of every key: empty, or ends with a slash
};

// Parses blobs.url (s3://bucket[/prefix]) and blobs.endpoint (http[s]://host[:port]). kInvalidField: the
// error names the setting, and `param` is its path.
base::Result<Location> parse_location(const std::string& url, const std::string& endpoint);

}  // namespace millrace::s3

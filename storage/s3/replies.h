#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/result.h"

namespace millrace::s3 {

// The text of the first element `name` in `xml`, without entities; empty if there is none. It needs no more
// of XML than the replies of S3 have: elements without attributes, and no comments.
std::string element_text(std::string_view xml, std::string_view name);

struct ListedObject {
  std::string key;
  base::WallTime modified;  // by the clock of the server
};
struct Listing {
  std::vector<ListedObject> objects;
  std::string next;  // the continuation token; empty: this is the last page
};
// Reads the reply of ListObjectsV2. An object whose time cannot be read is left out.
Listing parse_listing(std::string_view xml);

// The error of a reply that is no success, with the setting to correct. kNotFound: there is no such object.
// Everything else is kOverloaded with a retry_after: the operator can correct it while jobs wait.
base::Error reply_error(int status, std::string_view xml);

}  // namespace millrace::s3

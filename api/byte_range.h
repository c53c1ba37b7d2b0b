#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/front/exchange.h"

// Which bytes of a representation a request asks for (RFC 9110, sections 13 and 14).
namespace millrace::api {

struct ByteRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// What of `size` bytes is sent.
struct RangeChoice {
  enum class Kind {
    kWhole,  // 200: no range, one of several, one that is not understood, or If-Range names another state
    kPart,   // 206
    kUnsatisfied,  // 416
  };
  Kind kind = Kind::kWhole;
  ByteRange range;
};
// By Range and If-Range of a GET; `etag` is a strong one, with its quotes.
RangeChoice choose_range(const front::Head& head, std::string_view etag, std::int64_t size);

// True if If-None-Match names `etag` (or is `*`): 304.
bool is_unchanged(const front::Head& head, std::string_view etag);

}  // namespace millrace::api

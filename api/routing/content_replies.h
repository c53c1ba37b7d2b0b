#pragma once
#include <array>
#include <string_view>

#include "api/routing/route.h"

// The documented responses of a GET for the bytes of a file (api/media/download.h).
namespace millrace::api {

inline constexpr std::string_view kBytesHeaders =
    "etag accept-ranges cache-control content-disposition x-content-type-options content-security-policy";
inline constexpr std::string_view kPartHeaders =
    "etag accept-ranges cache-control content-disposition x-content-type-options content-security-policy "
    "content-range";

// `error_type`, `error_schema`: of the response to a range that contains no byte of the file.
constexpr std::array<ReplySpec, 4> content_replies(std::string_view error_type,
                                                   std::string_view error_schema) {
  return {
      ReplySpec{200, "All of its bytes", "application/octet-stream", "Bytes", {}, kBytesHeaders},
      ReplySpec{
          206, "The byte range that `Range` requests", "application/octet-stream", "Bytes", {}, kPartHeaders},
      ReplySpec{304,
                "Unchanged: `If-None-Match` contains its ETag",
                {},
                {},
                {},
                "etag accept-ranges cache-control"},
      ReplySpec{
          416, "The range contains no byte of the file", error_type, error_schema, {}, "content-range"}};
}

}  // namespace millrace::api

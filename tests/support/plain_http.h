#pragma once
#include <cstdlib>
#include <string_view>

#include "platform/net/http/http_client.h"

namespace millrace::support {

// The implementation that a test's client uses for upstreams without TLS: our own, or curl's if
// MILLRACE_TEST_HTTP=curl (cmake/tests.cmake runs these tests both ways).
inline net::PlainHttp plain_http() {
  const char* way = std::getenv("MILLRACE_TEST_HTTP");
  return way != nullptr && std::string_view(way) == "curl" ? net::PlainHttp::kCurl : net::PlainHttp::kBuiltIn;
}

}  // namespace millrace::support

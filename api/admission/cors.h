#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/front/exchange.h"

namespace millrace::api {

// Which web pages may call this gateway from other origins (http.cors_origins). Immutable.
class Cors {
 public:
  // SCHEME://HOST[:PORT] each, or "*" for all origins; none: CORS is off.
  explicit Cors(std::vector<std::string> origins) : origins_(std::move(origins)) {}

  // The Origin of the request if its page may read the response, else empty.
  std::string_view allowed_origin(const front::Head& head) const;

 private:
  std::vector<std::string> origins_;
};

bool is_preflight(const front::Head& head);
// The response to a preflight request of an allowed origin. `allow`: the methods of the path.
front::Reply preflight_reply(const front::Head& head, std::string_view allow);
// The headers with which a page of this origin can read the response.
void add_cors_headers(front::Reply& reply, std::string_view origin);

}  // namespace millrace::api

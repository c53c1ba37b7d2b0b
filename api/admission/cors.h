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

  // How the response to a request depends on its Origin.
  struct Answer {
    std::string origin = {};  // that of the request if its page may read the response, else empty
    bool varies = false;      // another Origin could get another response
  };
  Answer answer(const front::Head& head) const;

 private:
  std::vector<std::string> origins_;
};

bool is_preflight(const front::Head& head);
// The response to a preflight request of an allowed origin. `allow`: the methods of the path.
front::Reply preflight_reply(const front::Head& head, std::string_view allow);
// The headers with which a page of the origin can read the response, and caches keep it apart from others.
void add_cors_headers(front::Reply& reply, const Cors::Answer& answer);

}  // namespace millrace::api

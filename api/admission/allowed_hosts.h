#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

namespace millrace::api {

// The hosts by which clients may address this gateway (http.hosts). They keep out web pages whose name leads
// to this gateway's address (DNS rebinding). An address is always allowed, because a page cannot be loaded
// from there. Immutable.
class AllowedHosts {
 public:
  // `names`: in addition to localhost; without ports, in any case.
  explicit AllowedHosts(std::vector<std::string> names);

  // `authority`: HOST or HOST:PORT, as in a Host header; the port does not matter.
  bool contains(std::string_view authority) const;

 private:
  std::vector<std::string> names_;
};

// The error for a request with another Host.
base::Error wrong_host(std::string_view host);

}  // namespace millrace::api

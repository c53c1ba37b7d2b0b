#include "app/listener_url.h"

#include "platform/base/net_address.h"

namespace millrace::app {

std::string listener_url(const std::string& host, std::uint16_t port) {
  const bool any = host == "0.0.0.0" || host == "::";
  return "http://" + base::NetAddress{any ? "127.0.0.1" : host, port}.str();
}

}  // namespace millrace::app

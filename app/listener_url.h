#pragma once
#include <cstdint>
#include <string>

namespace millrace::app {

// How a listener is reached from this host, without a slash at its end: one on every address by loopback.
std::string listener_url(const std::string& host, std::uint16_t port);

}  // namespace millrace::app

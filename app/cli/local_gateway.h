#pragma once
#include <string>
#include <string_view>

namespace millrace::cli {

// True if `url` is http or https and its host, whole, is a loopback address or "localhost": what listens
// there is on this machine, so that it may be sent a key of this machine. Any doubt is a no.
bool is_local_gateway(std::string_view url);

}  // namespace millrace::cli

#pragma once
#include <string>
#include <string_view>

namespace millrace::cli {

// True if `url` is http or https and its host, whole, is a loopback address or "localhost": what listens
// there is on this machine, so that it may be sent a key of this machine. Any doubt is a no.
bool is_local_gateway(std::string_view url);

// What is wrong with `url` as a gateway's address, for a person; empty: nothing. HOST:PORT alone will do, and
// so does a host with a dot, or localhost.
std::string url_problem(std::string_view url);

}  // namespace millrace::cli

#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace::cli {

// A gateway that runs on this host, as its command line shows it.
struct LocalGateway {
  std::string data;        // of --data, absolute; empty: not given
  std::uint16_t port = 0;  // of --listen; 0: not given, or any free one
};

// The gateway of a command line; nullopt: it is none.
std::optional<LocalGateway> gateway_in(const std::vector<std::string>& words);

// How to get a key for the gateway at `url`, for people. For one of this host, it has the data directory if
// the command line of the running gateway shows it.
std::string key_advice(const std::string& url);
// The same with these gateways of this host.
std::string key_advice(const std::string& url, const std::vector<LocalGateway>& running);

}  // namespace millrace::cli

#pragma once
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "platform/base/result.h"

// Shared error messages and the parsing of header fields for both transports. For the sources of this module.
namespace millrace::net {

std::string lower_case(std::string_view text);
std::string_view trimmed(std::string_view text);  // removes white space at both ends
// case-insensitive; `low` must be in lower case
bool is_same_word(std::string_view text, std::string_view low);

// kUpstreamTimeout: "<what> (time-out <name>: <bound> ms)".
base::Error timed_out(std::string what, std::string_view name, std::chrono::milliseconds bound);
// kTooLarge.
base::Error reply_too_large(std::size_t bytes_max);
// kUpstream.
base::Error request_failed(std::string_view why);

}  // namespace millrace::net

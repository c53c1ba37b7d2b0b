#pragma once
#include <string_view>

namespace millrace::base {

// "Not Found" (RFC 9110); empty for a status that is never sent.
std::string_view http_phrase(int status);

}  // namespace millrace::base

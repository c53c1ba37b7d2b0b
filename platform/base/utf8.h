#pragma once
#include <string_view>

namespace millrace::base {

bool is_utf8(std::string_view text);

}  // namespace millrace::base

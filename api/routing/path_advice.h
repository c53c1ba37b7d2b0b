#pragma once
#include <string>
#include <string_view>

#include "api/routing/router.h"

namespace millrace::api {

// The message of a 404 for an unknown path. It contains the path to use instead, if that is known.
std::string no_such_path(const Router& router, std::string_view path);

}  // namespace millrace::api

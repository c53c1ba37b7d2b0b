#pragma once
#include <string>
#include <string_view>

#include "api/routing/router.h"

namespace millrace::api {

// The message of a 404 at a path that no row has: what to use instead, where that is known.
std::string no_such_path(const Router& router, std::string_view path);

}  // namespace millrace::api

#pragma once
#include <span>

#include "api/routing/route.h"

namespace millrace::api {

// All routes of this server.
std::span<const Route> routes();

}  // namespace millrace::api

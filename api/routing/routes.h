#pragma once
#include <span>

#include "api/routing/route.h"

namespace millrace::api {

// The one flat table of everything that this server answers.
std::span<const Route> routes();

}  // namespace millrace::api

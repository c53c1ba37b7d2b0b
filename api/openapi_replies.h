#pragma once
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "api/route.h"

namespace millrace::api {

// {"$ref": "#/components/<kind>/<name>"}
nlohmann::json openapi_ref(std::string_view kind, std::string_view name);

// The `responses` of a route: every status that it, its guard or the front end may answer, each with the
// headers that are really sent with it.
nlohmann::json openapi_replies(const Route& route);

}  // namespace millrace::api

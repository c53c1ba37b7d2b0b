#pragma once
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace millrace::api {

// The OpenAPI 3.1 document of the route table, as JSON text.
std::string openapi_document();

// components: schemas (those of requests come from their field tables), parameters, headers, security
// schemes.
nlohmann::json openapi_components();
// Those of the machine half of the API, for `components`.
nlohmann::json openapi_machine_schemas();

}  // namespace millrace::api

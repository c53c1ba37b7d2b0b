#pragma once
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "api/routing/route.h"

namespace millrace::api {

// The OpenAPI 3.1 document of the route table, as JSON text.
std::string openapi_document();

// components: schemas (those of requests come from their field tables), parameters, headers, security
// schemes.
nlohmann::json openapi_components();
// Puts an example into each schema of an answer whose routes give none of their own, and of each error.
void openapi_add_examples(nlohmann::json& schemas);
// Those of the machine half of the API, for `components`.
nlohmann::json openapi_machine_schemas();

// Those of chat.
nlohmann::json openapi_chat_schemas();
// Those of the administration.
nlohmann::json openapi_admin_schemas();
// Those of embeddings, images and speech.
nlohmann::json openapi_media_schemas();
// Those of transcriptions and translations.
nlohmann::json openapi_audio_schemas();

// {"$ref": "#/components/<kind>/<name>"}
nlohmann::json openapi_ref(std::string_view kind, std::string_view name);

// The `responses` of a route: every status that it, its guard or the front end may answer, each with the
// headers that are really sent with it.
nlohmann::json openapi_replies(const Route& route);

}  // namespace millrace::api

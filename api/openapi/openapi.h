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
// Adds an example to each error schema, and to each response schema whose routes have no example.
void openapi_add_examples(nlohmann::json& schemas);
// The schemas of the machine endpoints.
nlohmann::json openapi_machine_schemas();

// The schemas of chat.
nlohmann::json openapi_chat_schemas();
// The schemas of the admin endpoints.
nlohmann::json openapi_admin_schemas();
// The schemas of embeddings, images and speech.
nlohmann::json openapi_media_schemas();
// The schemas of transcriptions and translations.
nlohmann::json openapi_audio_schemas();

// The schemas of files.
nlohmann::json openapi_file_schemas();
nlohmann::json openapi_batch_schemas();

// The schemas of webhooks.
nlohmann::json openapi_webhook_schemas();

// {"$ref": "#/components/<kind>/<name>"}
nlohmann::json openapi_ref(std::string_view kind, std::string_view name);

// The `responses` of a route: every status that the handler, the guard or the front end may send, each with
// its headers.
nlohmann::json openapi_replies(const Route& route);

}  // namespace millrace::api

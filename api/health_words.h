#pragma once
#include <cstdint>

#include "schemas/json_text.h"

// What the parts of the gateway's health are, for who reads of them for the first time.
namespace millrace::api {

enum class HealthPart : std::uint8_t { kStore, kDispatch, kDisk };

// `means`, and where the part is not well `what_to_do`: a plain line each.
void add_health_words(schemas::JsonObject& out, HealthPart part, bool ok);

}  // namespace millrace::api

#pragma once
#include <cstdint>

#include "schemas/json/json_text.h"

// Explanations of the components in the gateway's health.
namespace millrace::api {

enum class HealthPart : std::uint8_t { kStore, kDispatch, kDisk };

// Adds `means` and, if the component is not ok, `what_to_do`.
void add_health_texts(schemas::JsonObject& out, HealthPart part, bool ok);

}  // namespace millrace::api

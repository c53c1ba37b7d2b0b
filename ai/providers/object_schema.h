#pragma once
#include <string_view>

#include "ai/providers/json_access.h"

namespace millrace::providers {

// Completes the JSON Schema of a tool's arguments, which providers require to be an object with `properties`.
// Fills in a missing `type` and missing `properties`, and removes null `required`, also in nested schemas. An
// empty list stands for an empty object, as some languages write it. Returns why it is no schema of an
// object; empty: it is one.
std::string_view complete_object_schema(Json& schema);

}  // namespace millrace::providers

#pragma once
#include <string_view>

#include "ai/providers/json_access.h"

namespace millrace::providers {

// What a `$ref` of a JSON Schema means: "#", or a JSON pointer after it. Within the document alone, nothing
// is fetched; null: it leads nowhere. One that leads to itself is the caller's to bound.
const Json* referenced(const Json& root, std::string_view reference);

}  // namespace millrace::providers

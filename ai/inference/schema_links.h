#pragma once
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "platform/base/result.h"

namespace millrace::inference {

// The value of a $ref, and the schema that it means; both lie in the tree that they were made of.
using SchemaLinks = std::unordered_map<const nlohmann::json*, const nlohmann::json*>;

// Of a schema whose keywords have their forms. kInvalidField: a $ref to no schema in it, or one that leads
// back to itself without going into the document.
base::Result<SchemaLinks> schema_links(const nlohmann::json& whole);

}  // namespace millrace::inference

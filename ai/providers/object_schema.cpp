#include "ai/providers/object_schema.h"

#include <algorithm>
#include <array>

namespace millrace::providers {
namespace {

// Keywords whose value is a schema or a list of schemas, and keywords whose value has named schemas.
constexpr std::array<std::string_view, 14> kSubschemas{"items",
                                                       "prefixItems",
                                                       "contains",
                                                       "additionalProperties",
                                                       "anyOf",
                                                       "oneOf",
                                                       "allOf",
                                                       "not",
                                                       "if",
                                                       "then",
                                                       "else",
                                                       "unevaluatedProperties",
                                                       "unevaluatedItems",
                                                       "propertyNames"};
constexpr std::array<std::string_view, 5> kNamedSubschemas{"properties", "patternProperties", "$defs",
                                                           "definitions", "dependentSchemas"};

bool is_empty_list(const Json& value) { return value.is_array() && value.empty(); }
bool is_absent(const Json& value) { return value.is_null() || is_empty_list(value); }

void complete_members(Json& schema) {
  if (schema.is_array()) {
    for (Json& each : schema) complete_members(each);
  }
  if (!schema.is_object()) return;
  if (const auto found = schema.find("properties"); found != schema.end() && is_absent(*found))
    *found = Json::object();
  if (const auto found = schema.find("required"); found != schema.end() && found->is_null())
    schema.erase(found);
  for (auto& [keyword, value] : schema.items()) {
    if (std::ranges::find(kSubschemas, keyword) != kSubschemas.end()) complete_members(value);
    if (std::ranges::find(kNamedSubschemas, keyword) == kNamedSubschemas.end() || !value.is_object())
      continue;
    for (Json& each : value) complete_members(each);
  }
}

bool is_object_type(const Json& type) {
  if (type.is_array()) return std::ranges::find(type, Json("object")) != type.end();
  return type.is_null() || type == "object";
}

}  // namespace

std::string_view complete_object_schema(Json& schema) {
  if (is_absent(schema)) schema = Json::object();
  if (!schema.is_object()) return "its schema is not an object";
  if (!is_object_type(schema["type"])) return "its schema does not describe an object";
  schema["type"] = "object";
  complete_members(schema);
  if (!schema.contains("properties")) schema["properties"] = Json::object();
  if (!schema["properties"].is_object()) return "the properties of its schema are not an object";
  return {};
}

}  // namespace millrace::providers

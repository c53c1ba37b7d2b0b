#pragma once
#include <memory>
#include <string>

#include <nlohmann/json.hpp>

#include "ai/inference/schema_links.h"
#include "platform/base/result.h"

namespace millrace::inference {

inline constexpr std::size_t kSchemaBytesMax = 256u << 10;  // of a schema as JSON text
inline constexpr std::size_t kSchemaPlacesMax = 5'000;      // schemas inside one
inline constexpr const char* kSchemaField = "response_format.json_schema.schema";

// kInvalidField about the schema at `place`, a JSON pointer into it.
base::Error schema_error(const std::string& place, const std::string& what);

// A client's JSON Schema as it is checked by.
struct SchemaForm {
  using Ptr = std::unique_ptr<const SchemaForm>;  // the links point into `whole`: it never moves
  nlohmann::json whole;
  SchemaLinks links;
};

// Of a client's schema: known keywords alone, each of the right form. Keywords that say
// nothing about what is right or wrong are left out, and so are those that are not checked: `format`, and
// `pattern` and patternProperties, whose cost has no bound (additionalProperties beside them is left out,
// too). kInvalidField: a keyword of the wrong form, a $ref that is no JSON pointer to a schema in here, one
// that leads back to itself without going into the document, too many schemas.
base::Result<SchemaForm::Ptr> schema_form(const nlohmann::json& schema);

}  // namespace millrace::inference

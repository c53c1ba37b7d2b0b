#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "platform/base/result.h"

namespace millrace::inference {

// What the value of a keyword is.
enum class SchemaValue : std::uint8_t {
  kSchema,
  kSchemas,
  kSchemaMap,
  kCount,
  kNumber,
  kNames,
  kTypes,
  kBool,
  kAny
};

struct SchemaKeyword {
  std::string_view name;
  SchemaValue value;
};

// The keywords that are checked, but for $ref.
inline constexpr std::array kSchemaKeywords{
    SchemaKeyword{"type", SchemaValue::kTypes},
    SchemaKeyword{"enum", SchemaValue::kAny},
    SchemaKeyword{"const", SchemaValue::kAny},
    SchemaKeyword{"properties", SchemaValue::kSchemaMap},
    SchemaKeyword{"required", SchemaValue::kNames},
    SchemaKeyword{"additionalProperties", SchemaValue::kSchema},
    SchemaKeyword{"minProperties", SchemaValue::kCount},
    SchemaKeyword{"maxProperties", SchemaValue::kCount},
    SchemaKeyword{"items", SchemaValue::kSchema},
    SchemaKeyword{"minItems", SchemaValue::kCount},
    SchemaKeyword{"maxItems", SchemaValue::kCount},
    SchemaKeyword{"uniqueItems", SchemaValue::kBool},
    SchemaKeyword{"minLength", SchemaValue::kCount},
    SchemaKeyword{"maxLength", SchemaValue::kCount},
    SchemaKeyword{"minimum", SchemaValue::kNumber},
    SchemaKeyword{"maximum", SchemaValue::kNumber},
    SchemaKeyword{"exclusiveMinimum", SchemaValue::kNumber},
    SchemaKeyword{"exclusiveMaximum", SchemaValue::kNumber},
    SchemaKeyword{"multipleOf", SchemaValue::kNumber},
    SchemaKeyword{"anyOf", SchemaValue::kSchemas},
    SchemaKeyword{"oneOf", SchemaValue::kSchemas},
    SchemaKeyword{"allOf", SchemaValue::kSchemas},
    SchemaKeyword{"not", SchemaValue::kSchema},
    SchemaKeyword{"$defs", SchemaValue::kSchemaMap},
    SchemaKeyword{"definitions", SchemaValue::kSchemaMap},
};

// One step further into a JSON pointer, as long as this lives: the places of a schema are many and may be
// long, so one text is all of them, one after the other.
class PlaceStep {
 public:
  PlaceStep(std::string& place, std::string_view member) : place_(place), outside_(place.size()) {
    place_ += '/';
    for (const char c : member) {
      if (c == '~') {
        place_ += "~0";
      } else if (c == '/') {
        place_ += "~1";
      } else {
        place_ += c;
      }
    }
  }
  ~PlaceStep() { place_.resize(outside_); }
  PlaceStep(const PlaceStep&) = delete;
  PlaceStep& operator=(const PlaceStep&) = delete;

 private:
  std::string& place_;
  const std::size_t outside_;
};

// The value of a $ref, and the schema that it means; both lie in the tree that they were made of.
using SchemaLinks = std::unordered_map<const nlohmann::json*, const nlohmann::json*>;

// Of a schema whose keywords have their forms. kInvalidField: a $ref to no schema in it, or one that leads
// back to itself without going into the document.
base::Result<SchemaLinks> schema_links(const nlohmann::json& whole);

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

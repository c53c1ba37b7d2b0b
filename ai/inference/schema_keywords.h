#pragma once
#include <array>
#include <cstdint>
#include <string_view>

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

}  // namespace millrace::inference

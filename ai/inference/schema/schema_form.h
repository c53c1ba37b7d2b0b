#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "platform/base/result.h"
#include "schemas/json/json.h"

namespace millrace::inference {

// The type of a keyword's value.
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

// The keywords that are checked, except $ref.
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

// Appends one member to a JSON pointer and removes it in the destructor. A schema has many places and their
// pointers may be long, so one string is reused for all of them.
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

// Maps the value of a $ref to the schema that it refers to. Both point into the same tree.
using SchemaLinks = std::unordered_map<const schemas::Json*, const schemas::Json*>;

// Resolves every $ref. REQUIRES: the keywords of `whole` have the right form. kInvalidField: a $ref does not
// lead to a schema in `whole`, or leads back to itself without descending into the document.
base::Result<SchemaLinks> schema_links(const schemas::Json& whole);

inline constexpr std::size_t kSchemaBytesMax = 256u << 10;  // of a schema as JSON text
inline constexpr std::size_t kSchemaPlacesMax = 5'000;      // subschemas of one schema
inline constexpr const char* kSchemaField = "response_format.json_schema.schema";

// kInvalidField about the subschema at `place`, a JSON pointer.
base::Error schema_error(const std::string& place, const std::string& what);

// A client's JSON Schema in the form that SchemaCheck uses.
struct SchemaForm {
  using Ptr = std::unique_ptr<const SchemaForm>;  // never moved: `links` points into `whole`
  schemas::Json whole;
  SchemaLinks links;
};

// Reads a client's schema. Only known keywords are kept, each with a value of the right form. Keywords that
// constrain nothing are left out. Keywords that are not checked are left out too: `format`, and `pattern` and
// patternProperties, whose cost has no bound (then also additionalProperties beside patternProperties).
// kInvalidField: a keyword has a value of the wrong form; a $ref is not a JSON pointer to a subschema, or
// leads back to itself without descending into the document; there are too many subschemas.
base::Result<SchemaForm::Ptr> schema_form(const schemas::Json& schema);

}  // namespace millrace::inference

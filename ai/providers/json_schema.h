#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ai/providers/json_access.h"

// JSON Schemas (draft 2020-12) of clients and tool servers, which providers accept only in part.
namespace millrace::providers {

// The form of a keyword's value.
enum class SchemaForm : std::uint8_t {
  kSchema,
  kSchemas,       // a list of them, not empty
  kNamedSchemas,  // by name
  kTypes,
  kNames,  // a list of texts
  kValues,
  kCount,
  kNumber,
  kText,
  kFlag,
  kAny,
};

struct SchemaKeyword {
  std::string_view name;
  SchemaForm form;
  // The type of the values that it constrains; empty: any. "number" includes integers.
  std::string_view type = {};
  // What it demands, as text with % for its value; empty: nothing, or nothing simple.
  std::string_view demand = {};
  bool is_note = false;  // constrains nothing
};
// Of which one alternative has to hold; oneOf means exactly one.
inline constexpr std::array<std::string_view, 2> kUnionKeywords{"anyOf", "oneOf"};
const SchemaKeyword* schema_keyword(std::string_view name);  // null: unknown

// The type of a value in a schema; "number" for integers, too.
std::string_view type_name_of(const Json& value);
// True if the keyword can have an effect beside the schema's `type`.
bool applies(const SchemaKeyword& keyword, const Json& schema);
// True if the schema lets values of this type pass, as far as its `type` allows.
bool allows_type(const Json& schema, std::string_view type);

// A valid schema that means the same. Members of the wrong form are left out, and so are keywords of other
// types than `type`, which have no effect. A list of `items` becomes `prefixItems`, and what is no schema {}.
Json valid_schema(const Json& schema);

// Calls `visit` for the schema and then for each of its subschemas, which `visit` may change.
void each_schema(Json& schema, const std::function<void(Json& schema)>& visit);

void each_schema(const Json& schema, const std::function<void(const Json& schema)>& visit);

// Reads schemas of one tree. The results accept all that the schemas accept, sometimes more. Not thread-safe.
class SchemaTree {
 public:
  static constexpr int kStepsMax = 4'096;      // references and parts of allOf that are followed
  static constexpr std::size_t kPathMax = 64;  // of which lead on from each other
  // Of the schemas that are followed or copied; what comes after it demands nothing.
  static constexpr std::size_t kBytesMax = std::size_t{4} << 20;

  // `root` has passed valid_schema, and outlives this.
  explicit SchemaTree(const Json& root) : root_(root) {}

  // The schema without $ref and allOf at its root: what they demand is merged into it. A reference to itself
  // demands nothing. Returns `schema` itself if it has neither, otherwise `store`.
  const Json& flat(const Json& schema, Json& store);
  // What the schema's $ref leads to, as a valid schema; the same one each time. Null: it has none, or it
  // leads nowhere. It lives as long as this.
  const Json* target(const Json& schema);
  // True if `flat` or `object_root` has left out a demand: two values of a keyword that are not merged, a
  // reference that leads nowhere, what an alternative alone demands, or what is beyond the bounds.
  bool has_lost() const { return has_lost_; }
  // Counts a schema that is copied. False: there were too many.
  bool may_copy(const Json& schema);
  // The schema of the objects that `schema` accepts, without $ref, anyOf, oneOf, allOf, not and enum at its
  // root: properties of alternatives are united, and required are those that all of them require.
  Json object_root(const Json& schema);

 private:
  Json fold(const Json& schema, int depth);

  const Json& root_;
  int steps_ = 0;
  std::size_t bytes_ = 0;
  bool has_lost_ = false;
  std::map<const Json*, Json> targets_;  // a reference may lead to what is no schema, such as a default
  std::vector<const Json*> path_;        // of the references that are being followed
};

// The schema of a tool's arguments as most providers require it: valid, with an object_root, and without
// references that lead nowhere.
Json object_schema(const Json& schema);
// The same for a strict tool. Without `parameters`, or if their `properties` are empty and they have no rule
// for others, it has no arguments. `is_loosened` becomes true if a demand was left out.
Json strict_object_schema(const Json* parameters, bool& is_loosened);
// Completes the schema of a tool that a server lists: valid, of the type object and with `properties`. An
// empty list stands for an empty object, as some languages write it. Returns why it is no schema of an
// object; empty: it is one.
std::string_view complete_object_schema(Json& schema);
// True if it demands nothing.
bool accepts_all(const Json& schema);
// True if its root has a keyword that object_root removes.
bool has_union_root(const Json& schema);

}  // namespace millrace::providers

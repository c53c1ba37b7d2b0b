#pragma once
#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "schemas/json/json.h"

namespace millrace::support {

// JSON Schemas (draft 2020-12) of tools as MCP servers and schema libraries write them: definitions that
// refer to each other, unions at every level, lists of types, keywords of other types, mixed enums, tuples,
// boolean schemas. The same seed gives the same schemas.
class RandomSchema {
 public:
  explicit RandomSchema(std::uint64_t seed) : random_(seed) {}

  schemas::Json tool();    // of an object; the root may be a union or a reference
  schemas::Json answer();  // as in response_format: the same, and other types
  // A value that `root` accepts; nullopt: none was found.
  std::optional<schemas::Json> value(const schemas::Json& root);

 private:
  using Json = schemas::Json;
  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }

  Json schema(int depth);
  Json text();
  Json number();
  Json list(int depth);
  Json object(int depth);
  Json chosen_members(int depth);
  Json unions(int depth);
  Json types(int depth);
  Json all_of(int depth);
  Json reference();
  Json values();
  Json stray(int depth);
  Json with_definitions(Json root);

  Json value_of(const Json& schema, int depth);
  Json value_of_type(const Json& schema, const std::string& type, int depth);
  Json any_value(int depth);

  std::mt19937_64 random_;
  const Json* root_ = nullptr;  // of the value that is made
  bool has_definitions_ = false;
};

}  // namespace millrace::support

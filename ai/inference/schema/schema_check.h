#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>

#include "ai/inference/schema/schema_form.h"

namespace millrace::inference {

// What a value by itself has against the keywords of a schema that schema_form made: type, enum, const,
// bounds of numbers, texts, lists and objects, required, uniqueItems. Empty: nothing.
std::string value_fault(const nlohmann::json& schema, const nlohmann::json& value);

inline constexpr std::size_t kStepBytes = 64;  // of text are a step
// How many steps it takes to look at all of a tree: one for each value, and those of its texts and names.
std::size_t json_steps(const nlohmann::json& tree);
// The same for value_fault, from above.
std::size_t value_steps(const nlohmann::json& schema, const nlohmann::json& value);

// Checks one document by a schema that schema_form made. Its time is bounded: a schema may try many
// alternatives at every level of a document, and refer to itself. A step is a schema or a member looked at,
// a value compared, or kStepBytes of text: about as much work as any other.
class SchemaCheck {
 public:
  static constexpr std::size_t kStepsMax = 1'000'000;  // past them the fault says so
  static constexpr int kDepthMax = 512;  // schemas inside each other on one way through a document

  struct Fault {
    std::string place;  // in the document: "$.items.0.price"
    std::string what;
  };

  explicit SchemaCheck(const SchemaForm& form) : form_(form) {}
  // nullopt: the document is right. Once.
  std::optional<Fault> check(const nlohmann::json& document);

 private:
  using Json = nlohmann::json;
  // Where in the document, as a list from the inside out; for messages alone.
  struct Place {
    const Place* above = nullptr;
    const std::string* member = nullptr;  // null: `item`
    std::size_t item = 0;
  };
  using Found = std::optional<Fault>;

  Found visit(const Json& schema, const Json& document, const Place& place, int depth);
  Found visit_reference(const Json& reference, const Json& document, const Place& place, int depth);
  Found visit_alternatives(const Json& schema, const Json& document, const Place& place, int depth);
  Found visit_members(const Json& schema, const Json& document, const Place& place, int depth);
  Found visit_items(const Json& schema, const Json& document, const Place& place, int depth);
  // Without a word of why not.
  bool fits(const Json& schema, const Json& document, const Place& place, int depth);
  Fault fault(const Place& place, std::string what) const;
  bool charge(std::size_t steps);  // false: there are none left

  const SchemaForm& form_;
  std::size_t steps_ = 0;
  bool gave_up_ = false;
  int quiet_ = 0;  // alternatives under way, whose faults nobody reads
  std::map<std::pair<const Json*, const Json*>, bool> known_;  // schemas referred to and documents: it fits
};

}  // namespace millrace::inference

#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "ai/inference/schema/schema_form.h"
#include "schemas/json/json.h"

namespace millrace::inference {

// Checks a value, without its members or items, against the keywords of a schema that schema_form returned:
// type, enum, const, bounds of numbers, strings, arrays and objects, required, uniqueItems. Returns the
// fault; empty: none.
std::string value_fault(const schemas::Json& schema, const schemas::Json& value);

inline constexpr std::size_t kStepBytes = 64;  // bytes of text that count as one step
// The steps to visit all of a tree: one for each value, plus those for its strings and names.
std::size_t json_steps(const schemas::Json& tree);
// An upper bound of the steps of value_fault.
std::size_t value_steps(const schemas::Json& schema, const schemas::Json& value);

// Checks one document against a schema that schema_form returned. The number of steps is bounded, because a
// schema can try many alternatives at every level of a document and can refer to itself. A step is one schema
// or member visited, one value compared, or kStepBytes of text. All steps cost about the same.
class SchemaCheck {
 public:
  static constexpr std::size_t kStepsMax = 1'000'000;  // beyond it the check fails with a fault
  static constexpr int kDepthMax = 512;                // nested schemas on one path through a document

  struct Fault {
    std::string place;  // path in the document: "$.items.0.price"
    std::string what;
  };

  explicit SchemaCheck(const SchemaForm& form) : form_(form) {}
  // nullopt: the document matches. Call it once.
  std::optional<Fault> check(const schemas::Json& document);

 private:
  // The place in the document, as a linked list from the inside out; for messages only.
  struct Place {
    const Place* above = nullptr;
    const std::string* member = nullptr;  // null: `item`
    std::size_t item = 0;
  };
  using Found = std::optional<Fault>;

  Found visit(const schemas::Json& schema, const schemas::Json& document, const Place& place, int depth);
  Found visit_reference(const schemas::Json& reference, const schemas::Json& document, const Place& place,
                        int depth);
  Found visit_alternatives(const schemas::Json& schema, const schemas::Json& document, const Place& place,
                           int depth);
  Found visit_members(const schemas::Json& schema, const schemas::Json& document, const Place& place,
                      int depth);
  Found visit_items(const schemas::Json& schema, const schemas::Json& document, const Place& place,
                    int depth);
  // Does not build a fault.
  bool fits(const schemas::Json& schema, const schemas::Json& document, const Place& place, int depth);
  Fault fault(const Place& place, std::string what) const;
  bool charge(std::size_t steps);  // false: no steps are left

  const SchemaForm& form_;
  std::size_t steps_ = 0;
  bool gave_up_ = false;
  int quiet_ = 0;  // depth of alternatives being tried; their faults are not needed
  // Results by (referenced schema, document value): true if the value matches.
  std::map<std::pair<const schemas::Json*, const schemas::Json*>, bool> known_;
};

}  // namespace millrace::inference

#include "ai/providers/anthropic/schema.h"

#include <algorithm>
#include <array>

namespace millrace::providers {
namespace {

constexpr std::array<std::string_view, 17> kKeywords = {
    "type",       "enum",  "const", "anyOf",  "$ref",    "$defs",    "definitions", "default",
    "required",   "title", "items", "format", "pattern", "minItems", "properties",  "additionalProperties",
    "description"};
constexpr std::array<std::string_view, 10> kFormats = {"date-time", "time", "date", "duration", "email",
                                                       "hostname",  "uri",  "ipv4", "ipv6",     "uuid"};
// A regular expression without lookaround, word boundaries, references to groups and large repetitions.
bool is_simple(std::string_view pattern) {
  constexpr std::string_view kEscapes = "bBkpP123456789";
  constexpr std::size_t kRepetitionMax = 5;  // characters: "10,20"
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      if (kEscapes.find(pattern[++i]) != std::string_view::npos) return false;
    } else if (pattern[i] == '(' && pattern[i + 1] == '?') {
      return false;
    } else if (pattern[i] == '{' &&
               pattern.substr(i + 1, kRepetitionMax + 1).find('}') == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

bool takes(std::string_view keyword, const Json& value) {
  if (keyword == "minItems") return value <= 1;
  if (keyword == "format") return std::ranges::find(kFormats, text_of(&value)) != kFormats.end();
  return keyword != "pattern" || is_simple(text_of(&value));
}

constexpr SchemaSubset kStrict{.keywords = kKeywords,
                               .takes = takes,
                               .lists = [](const Json& value) { return !value.is_structured(); },
                               .is_closed = true,
                               .has_cycles = false};

}  // namespace

std::optional<SubsetSchema> anthropic_strict_schema(const Json& schema) {
  return schema_within(kStrict, schema);
}

namespace {

// Counts with references followed, as the provider's grammar has a schema wherever it is referred to. Stops
// beyond the limits and beyond kStepsMax.
class StrictCount {
 public:
  explicit StrictCount(const Json& root) : root_(root) { visit(root); }

  bool is_whole() const { return steps_ <= kStepsMax; }  // false: it was too much to count
  int optional = 0, unions = 0;

 private:
  void visit(const Json& schema) {
    const bool is_over = optional > kStrictOptionalMax || unions > kStrictUnionsMax;
    if (is_over || !schema.is_object() || ++steps_ > kStepsMax) return;
    if (const Json* reference = member(schema, "$ref")) {
      if (const Json* target = referenced(root_, text_of(reference))) visit(*target);
    }
    const Json* types = member(schema, "type");
    if (schema.contains("anyOf") || (types != nullptr && types->is_array())) ++unions;
    if (const Json* properties = member(schema, "properties")) {
      const Json* required = member(schema, "required");
      const std::size_t named = required != nullptr ? required->size() : 0;
      optional += static_cast<int>(properties->size() - std::min(named, properties->size()));
      for (const Json& each : *properties) visit(each);
    }
    if (const Json* parts = member(schema, "anyOf"))
      std::ranges::for_each(*parts, [this](auto& each) { visit(each); });
    if (const Json* items = member(schema, "items")) visit(*items);
  }

  static constexpr int kStepsMax = 10'000;
  const Json& root_;
  int steps_ = 0;
};

}  // namespace

bool StrictBudget::admit(const Json& schema) {
  const StrictCount count(schema);
  const bool fits = count.is_whole() && optional_ + count.optional <= kStrictOptionalMax &&
                    unions_ + count.unions <= kStrictUnionsMax;
  if (!fits) return false;
  optional_ += count.optional;
  unions_ += count.unions;
  return true;
}

}  // namespace millrace::providers

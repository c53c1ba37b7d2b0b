#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "ai/providers/json_access.h"

// Merges JSON Schemas that have passed valid_schema. The time grows with the size of the schemas, not with
// their number times the values that were collected before.
namespace millrace::providers {

// The values of a list, compared by their JSON text.
class KnownValues {
 public:
  KnownValues() = default;
  explicit KnownValues(const Json& list);
  bool add(const Json& value);  // false: it is known
  bool has(const Json& value) const;
  bool is_empty() const { return texts_.empty(); }

 private:
  std::set<std::string> texts_;
};

// The values of `list` that `known` has, each once.
Json common_values(const Json& list, const KnownValues& known);

// A schema to which the demands of others are added. None has $ref or allOf. Where two demands cannot be met
// or merged, the earlier one stays.
class RestrictedSchema {
 public:
  // `schema` outlives it. Others may change only the keywords that are not merged.
  explicit RestrictedSchema(Json& schema) : schema_(schema) {}
  // True for keywords of which both values count.
  static bool merges(std::string_view keyword);
  void add(const Json& more);
  void add(std::string_view keyword, const Json& value);
  // The same; of a keyword that is not merged, the value replaces the earlier one.
  void replace(std::string_view keyword, const Json& value);
  // True if a demand was left out.
  bool has_lost() const { return has_lost_; }

 private:
  void note_loss(std::string_view keyword, const Json& earlier, const Json& value);
  void restrict_values(Json& values, const Json& more);

  Json& schema_;
  std::optional<KnownValues> required_, values_;  // those of `schema_`; nullopt: not read yet
  bool has_lost_ = false;
};
// The same for one schema. True: a demand was left out.
bool restrict_schema(Json& schema, const Json& more);

// A property as one of several alternatives demands it.
class UnitedProperty {
 public:
  explicit UnitedProperty(Json first) : schema_(std::move(first)) {}
  void add(const Json& other);
  Json take() && { return std::move(schema_); }

 private:
  enum class Form : std::uint8_t { kSingle, kValues, kUnion };
  bool add_values(const Json& other);
  void add_alternative(const Json& other);

  Json schema_;
  Form form_ = Form::kSingle;
  KnownValues known_;  // kValues: the values of `enum`; kUnion: the alternatives
};

}  // namespace millrace::providers

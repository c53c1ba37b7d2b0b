#include "ai/providers/declared_members.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ai/providers/json_schema.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_tree.h"

namespace millrace::providers {
namespace {

// Schemas that all apply to one value, each once.
class AppliedSchemas {
 public:
  void add(const Json* schema) {
    if (schema != nullptr && schema->is_object() && known_.insert(schema).second) list_.push_back(schema);
  }
  void add_parts(const Json* named) {
    if (named == nullptr || !named->is_structured()) return;
    for (const Json& part : *named) add(&part);
  }
  std::size_t size() const { return list_.size(); }
  const Json& operator[](std::size_t i) const { return *list_[i]; }

 private:
  std::vector<const Json*> list_;
  std::unordered_set<const Json*> known_;
};

bool allows_type_of(const Json& schema, const Json& value) {
  const bool is_number = value.is_number() || schemas::spelling_of(value);
  return allows_type(schema, type_name_of(value)) || (is_number && allows_type(schema, "integer"));
}

class Renamer {
 public:
  Renamer(const MemberNames& names, const Json& root, std::size_t steps_max)
      : names_(names), root_(root), steps_max_(steps_max) {}

  bool has_renamed() const { return has_renamed_; }
  std::size_t steps() const { return steps_; }

  // False: there were too many schemas; some members have their old names.
  bool rename(AppliedSchemas schemas, Json& value) {
    if (!value.is_structured()) return true;
    for (std::size_t i = 0; i < schemas.size(); ++i) {
      if (!add_applied(schemas[i], value, schemas)) return false;
    }
    return value.is_object() ? rename_object(schemas, value) : rename_list(schemas, value);
  }

 private:
  bool count(std::size_t steps) {
    steps_ += std::min(steps, kDeclaredStepsMax);
    return steps_ <= steps_max_;
  }

  const Json* reference(const Json& schema) const {
    const Json* given = member(schema, "$ref");
    return given == nullptr ? nullptr : referenced(root_, text_of(given));
  }

  // Comparing large values takes steps, too. False if there are none left.
  bool is_equal(const Json& listed, const Json& value) {
    if (!count(1)) return false;
    const bool may_be_large = listed.type() == value.type() && (value.is_structured() || value.is_string());
    return (!may_be_large || count(schemas::tree_bytes(value) / kBytesPerStep)) && listed == value;
  }

  bool lists_value(const Json& schema, const Json& value) {
    if (const Json* only = member(schema, "const"); only != nullptr && !is_equal(*only, value)) return false;
    const Json* listed = member(schema, "enum");
    if (listed == nullptr || !listed->is_array()) return true;
    return std::ranges::any_of(*listed, [&](const Json& each) { return is_equal(each, value); });
  }

  // Whether `value` may be of this alternative.
  bool may_fit(const Json& given, const Json& value) {
    const Json* target = reference(given);
    const Json& schema = target != nullptr ? *target : given;
    if (!schema.is_object()) return schema != false;
    if (!allows_type_of(schema, value) || !lists_value(schema, value)) return false;
    if (!value.is_object()) return true;
    if (const Json* required = member(schema, "required"); required != nullptr && required->is_array()) {
      steps_ += required->size();
      const auto is_there = [&](const Json& name) { return value.contains(text_of(&name)); };
      if (!std::ranges::all_of(*required, is_there)) return false;
    }
    const Json* properties = member(schema, "properties");
    const Json* others = member(schema, "additionalProperties");
    const bool is_closed = others != nullptr && *others == false && !schema.contains("patternProperties");
    return std::ranges::all_of(value.items(), [&](const auto& each) {
      const Json* part = member(properties, each.key());
      if (part == nullptr) return !is_closed;
      const Json* referred = reference(*part);
      return lists_value(*part, each.value()) &&
             (referred == nullptr || lists_value(*referred, each.value()));
    });
  }

  // Adds what a schema demands of the same value.
  bool add_applied(const Json& schema, const Json& value, AppliedSchemas& schemas) {
    if (!count(1)) return false;
    schemas.add(reference(schema));
    for (const char* keyword : {"if", "then", "else", "not"}) schemas.add(member(schema, keyword));
    schemas.add_parts(member(schema, "allOf"));
    const Json* dependent = member(schema, "dependentSchemas");
    if (dependent != nullptr && dependent->is_object() && value.is_object()) {
      for (const auto& [name, part] : dependent->items()) {
        if (value.contains(name)) schemas.add(&part);
      }
    }
    return std::ranges::all_of(kUnionKeywords, [&](std::string_view keyword) {
      return add_alternatives(member(schema, keyword), value, schemas);
    });
  }

  bool add_alternatives(const Json* list, const Json& value, AppliedSchemas& schemas) {
    if (list == nullptr || !list->is_array()) return true;
    if (!count(list->size() * (1 + value.size()))) return false;
    bool fits_any = false;
    for (const Json& part : *list) {
      if (!count(0)) return false;
      if (!may_fit(part, value)) continue;
      fits_any = true;
      schemas.add(&part);
    }
    if (!fits_any) schemas.add_parts(list);
    return true;
  }

  bool rename_object(const AppliedSchemas& schemas, Json& value) {
    if (!count(value.size() * schemas.size())) return false;
    MemberNames declared;
    for (auto& [name, each] : value.items()) {
      AppliedSchemas parts;
      bool is_declared = false;
      for (std::size_t i = 0; i < schemas.size(); ++i)
        is_declared = add_member(schemas[i], name, parts) || is_declared;
      if (const auto known = names_.find(name); known != names_.end()) {
        for (std::size_t i = 0; i < schemas.size() && !is_declared; ++i)
          is_declared = demands_member(schemas[i], name);
        if (is_declared) declared.insert(*known);
      }
      if (!count(parts.size())) return false;
      if (!rename(std::move(parts), each)) return false;
    }
    has_renamed_ = rename_members(declared, value) || has_renamed_;
    return true;
  }

  // Whether a schema names a member that is no property of it, as some do for members of free maps.
  bool demands_member(const Json& schema, const std::string& name) {
    const auto lists_name = [&](const Json* list) {
      if (list == nullptr || !list->is_array()) return false;
      steps_ += list->size();
      return std::ranges::find(*list, Json(name)) != list->end();
    };
    for (const char* keyword : {"required", "propertyOrdering"}) {
      if (lists_name(member(schema, keyword))) return true;
    }
    for (const char* keyword : {"dependentRequired", "dependentSchemas"}) {
      const Json* dependent = member(schema, keyword);
      if (dependent == nullptr || !dependent->is_object()) continue;
      steps_ += dependent->size();
      const bool is_named =
          dependent->contains(name) ||
          std::ranges::any_of(*dependent, [&](const Json& list) { return lists_name(&list); });
      if (is_named) return true;
    }
    return false;
  }

  // Adds the schemas of a member. Returns whether `schema` names the member.
  static bool add_member(const Json& schema, const std::string& name, AppliedSchemas& parts) {
    const Json* properties = member(schema, "properties");
    if (properties != nullptr && properties->is_object() && properties->contains(name)) {
      parts.add(member(*properties, name));
      return true;
    }
    parts.add_parts(member(schema, "patternProperties"));
    for (const char* keyword : {"additionalProperties", "unevaluatedProperties"})
      parts.add(member(schema, keyword));
    return false;
  }

  bool rename_list(const AppliedSchemas& schemas, Json& value) {
    if (!count(value.size() * schemas.size())) return false;
    for (std::size_t at = 0; at < value.size(); ++at) {
      AppliedSchemas parts;
      for (std::size_t i = 0; i < schemas.size(); ++i) add_item(schemas[i], at, parts);
      if (!rename(std::move(parts), value[at])) return false;
    }
    return true;
  }

  static void add_item(const Json& schema, std::size_t index, AppliedSchemas& parts) {
    const Json* items = member(schema, "items");
    const Json* tuple = member(schema, "prefixItems");
    if (items != nullptr && items->is_array()) tuple = std::exchange(items, nullptr);
    const bool is_of_tuple = tuple != nullptr && tuple->is_array() && index < tuple->size();
    parts.add(is_of_tuple ? &(*tuple)[index] : items);
    for (const char* keyword : {"contains", "unevaluatedItems"}) parts.add(member(schema, keyword));
  }

  static constexpr std::size_t kBytesPerStep = 64;
  const MemberNames& names_;
  const Json& root_;
  const std::size_t steps_max_;
  std::size_t steps_ = 0;
  bool has_renamed_ = false;
};

bool rename_everywhere(const MemberNames& names, Json& value) {
  bool has_renamed = value.is_object() && rename_members(names, value);
  if (!value.is_structured()) return has_renamed;
  for (Json& each : value) has_renamed = rename_everywhere(names, each) || has_renamed;
  return has_renamed;
}

}  // namespace

const std::string& renamed(const MemberNames& names, const std::string& name) {
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

bool rename_members(const MemberNames& names, Json& object) {
  const auto is_renamed = [&](const auto& member) { return names.contains(member.key()); };
  if (std::ranges::none_of(object.items(), is_renamed)) return false;
  Json made = Json::object();
  for (auto& [name, value] : object.items()) made[renamed(names, name)] = std::move(value);
  object = std::move(made);
  return true;
}

bool rename_declared(const MemberNames& names, const Json& root, const Json& schema, Json& value,
                     std::size_t& steps_left) {
  AppliedSchemas schemas;
  schemas.add(&schema);
  Renamer renamer(names, root, std::min(steps_left, kDeclaredStepsMax));
  const bool is_whole = renamer.rename(std::move(schemas), value);
  steps_left -= std::min(steps_left, renamer.steps());
  const bool has_renamed_more = !is_whole && rename_everywhere(names, value);
  return renamer.has_renamed() || has_renamed_more;
}

std::string renamed_arguments(const MemberNames& names, const Json& root, const std::string& arguments,
                              std::size_t& steps_left) {
  std::optional<Json> value = parse_wire(arguments);
  const bool is_renamed =
      value && value->is_structured() && rename_declared(names, root, root, *value, steps_left);
  return is_renamed ? schemas::dump(*value) : arguments;
}

}  // namespace millrace::providers

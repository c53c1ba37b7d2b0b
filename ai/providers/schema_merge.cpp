#include "ai/providers/schema_merge.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "ai/providers/json_schema.h"
#include "schemas/json/json_body.h"

namespace millrace::providers {

KnownValues::KnownValues(const Json& list) {
  for (const Json& each : list) add(each);
}

bool KnownValues::add(const Json& value) { return texts_.insert(schemas::dump(value)).second; }

bool KnownValues::has(const Json& value) const { return texts_.contains(schemas::dump(value)); }

Json common_values(const Json& list, const KnownValues& known) {
  KnownValues listed;
  Json values = Json::array();
  for (const Json& each : list) {
    if (known.has(each) && listed.add(each)) values.push_back(each);
  }
  return values;
}

namespace {

Json common_types(const Json& one, const Json& other) {
  constexpr std::array<std::string_view, 7> kTypes{"object",  "array",   "string", "number",
                                                   "integer", "boolean", "null"};
  Json types = Json::array();
  for (const std::string_view type : kTypes) {
    const auto allows = [&](const Json& set) {
      const Json schema = {{"type", set}};
      return allows_type(schema, type) || (type == "integer" && allows_type(schema, "number"));
    };
    const bool is_covered = type == "integer" && std::ranges::find(types, Json("number")) != types.end();
    if (allows(one) && allows(other) && !is_covered) types.push_back(type);
  }
  return types.size() == 1 ? Json(types[0]) : types;
}

void restrict_member(Json& members, const std::string& name, const Json& schema) {
  const auto found = members.find(name);
  if (found == members.end()) {
    members[name] = schema;
  } else if (*found != schema) {
    const bool is_all = found->is_object() && found->size() == 1 && found->contains("allOf");
    if (!is_all) *found = Json{{"allOf", Json::array({std::move(*found)})}};
    (*found)["allOf"].push_back(schema);
  }
}

}  // namespace

bool RestrictedSchema::merges(std::string_view keyword) {
  constexpr std::array<std::string_view, 6> kMerged{"type", "properties", "required",
                                                    "enum", "$defs",      "definitions"};
  return std::ranges::find(kMerged, keyword) != kMerged.end();
}

void RestrictedSchema::add(const Json& more) {
  if (!schema_.is_object() || !more.is_object()) return;
  for (const auto& [name, value] : more.items()) add(name, value);
}

void RestrictedSchema::add(std::string_view keyword, const Json& value) {
  const auto found = schema_.find(keyword);
  if (found == schema_.end()) {
    schema_[std::string(keyword)] = value;
  } else if (keyword == "type") {
    Json types = common_types(*found, value);
    has_lost_ = has_lost_ || types.empty();
    if (!types.empty()) *found = std::move(types);
  } else if (keyword == "properties" || keyword == "$defs" || keyword == "definitions") {
    for (const auto& [each, part] : value.items()) restrict_member(*found, each, part);
  } else if (keyword == "required") {
    if (!required_) required_.emplace(*found);
    for (const Json& each : value) {
      if (required_->add(each)) found->push_back(each);
    }
  } else if (keyword == "enum") {
    restrict_values(*found, value);
  } else {
    note_loss(keyword, *found, value);
  }
}

void RestrictedSchema::replace(std::string_view keyword, const Json& value) {
  const auto found = schema_.find(keyword);
  if (merges(keyword) || found == schema_.end()) return add(keyword, value);
  note_loss(keyword, *found, value);
  *found = value;
}

void RestrictedSchema::note_loss(std::string_view name, const Json& earlier, const Json& value) {
  const SchemaKeyword* keyword = schema_keyword(name);
  const bool demands = keyword != nullptr && !keyword->is_note;
  has_lost_ = has_lost_ || (demands && earlier != value);
}

void RestrictedSchema::restrict_values(Json& values, const Json& more) {
  if (!values_) values_.emplace(values);
  KnownValues common;
  for (const Json& each : more) {
    if (values_->has(each)) common.add(each);
  }
  has_lost_ = has_lost_ || common.is_empty();
  if (common.is_empty()) return;
  values = common_values(values, common);
  values_ = std::move(common);
}

bool restrict_schema(Json& schema, const Json& more) {
  RestrictedSchema restricted(schema);
  restricted.add(more);
  return restricted.has_lost();
}

namespace {

// The values that a schema lists, if it demands nothing else but a type; null: it demands more.
const Json* listed_values(const Json& schema, Json& store) {
  const Json* values = nullptr;
  if (!schema.is_object()) return nullptr;
  for (const auto& [name, value] : schema.items()) {
    const SchemaKeyword* keyword = schema_keyword(name);
    const bool is_note = keyword == nullptr || keyword->is_note;
    if (name == "const") {
      store = Json::array({value});
      values = &store;
    } else if (name == "enum") {
      values = &value;
    } else if (name != "type" && !is_note) {
      return nullptr;
    }
  }
  return values;
}

}  // namespace

void UnitedProperty::add(const Json& other) {
  if (schema_ == other || accepts_all(schema_)) return;
  if (accepts_all(other)) {
    schema_ = other;
  } else if (!add_values(other)) {
    add_alternative(other);
  }
}

// False: one of both demands more than to be one of a list.
bool UnitedProperty::add_values(const Json& other) {
  if (form_ == Form::kUnion || !schema_.is_object() || !other.is_object()) return false;
  Json store;
  const Json* more = listed_values(other, store);
  if (more == nullptr || schema_.value("type", Json()) != other.value("type", Json())) return false;
  if (form_ == Form::kSingle) {
    Json own;
    const Json* values = listed_values(schema_, own);
    if (values == nullptr) return false;
    known_ = KnownValues(*values);
    if (values == &own) schema_["enum"] = std::move(own);
    schema_.erase("const");
    form_ = Form::kValues;
  }
  Json& values = schema_["enum"];
  for (const Json& each : *more) {
    if (known_.add(each)) values.push_back(each);
  }
  return true;
}

void UnitedProperty::add_alternative(const Json& other) {
  if (form_ != Form::kUnion) {
    const bool is_union = schema_.is_object() && schema_.size() == 1 && schema_.contains("anyOf");
    if (!is_union) schema_ = Json{{"anyOf", Json::array({std::move(schema_)})}};
    known_ = KnownValues(schema_["anyOf"]);
    form_ = Form::kUnion;
  }
  if (known_.add(other)) schema_["anyOf"].push_back(other);
}

}  // namespace millrace::providers

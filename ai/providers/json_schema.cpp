#include "ai/providers/json_schema.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "ai/providers/schema_merge.h"
#include "ai/providers/schema_references.h"
#include "schemas/json/json_tree.h"

namespace millrace::providers {
namespace {

using Form = SchemaForm;

constexpr bool kNote = true;
constexpr std::array kSchemaKeywords{
    SchemaKeyword{"type", Form::kTypes},
    SchemaKeyword{"enum", Form::kValues, "", "one of %"},
    SchemaKeyword{"const", Form::kAny, "", "%"},
    SchemaKeyword{"$ref", Form::kText},
    SchemaKeyword{"$defs", Form::kNamedSchemas, "", "", kNote},
    SchemaKeyword{"definitions", Form::kNamedSchemas, "", "", kNote},
    SchemaKeyword{"$id", Form::kText, "", "", kNote},
    SchemaKeyword{"$schema", Form::kText, "", "", kNote},
    SchemaKeyword{"$anchor", Form::kText, "", "", kNote},
    SchemaKeyword{"$comment", Form::kText, "", "", kNote},
    SchemaKeyword{"title", Form::kText, "", "", kNote},
    SchemaKeyword{"description", Form::kText, "", "", kNote},
    SchemaKeyword{"default", Form::kAny, "", "", kNote},
    SchemaKeyword{"examples", Form::kValues, "", "", kNote},
    SchemaKeyword{"deprecated", Form::kFlag, "", "", kNote},
    SchemaKeyword{"readOnly", Form::kFlag, "", "", kNote},
    SchemaKeyword{"writeOnly", Form::kFlag, "", "", kNote},
    SchemaKeyword{"format", Form::kText, "", "of the format %"},
    SchemaKeyword{"minLength", Form::kCount, "string", "at least % characters long"},
    SchemaKeyword{"maxLength", Form::kCount, "string", "at most % characters long"},
    SchemaKeyword{"pattern", Form::kText, "string", "matching %"},
    SchemaKeyword{"minimum", Form::kNumber, "number", "at least %"},
    SchemaKeyword{"maximum", Form::kNumber, "number", "at most %"},
    SchemaKeyword{"exclusiveMinimum", Form::kNumber, "number", "more than %"},
    SchemaKeyword{"exclusiveMaximum", Form::kNumber, "number", "less than %"},
    SchemaKeyword{"multipleOf", Form::kNumber, "number", "a multiple of %"},
    SchemaKeyword{"items", Form::kSchema, "array"},
    SchemaKeyword{"prefixItems", Form::kSchemas, "array"},
    SchemaKeyword{"unevaluatedItems", Form::kSchema, "array"},
    SchemaKeyword{"contains", Form::kSchema, "array"},
    SchemaKeyword{"minContains", Form::kCount, "array"},
    SchemaKeyword{"maxContains", Form::kCount, "array"},
    SchemaKeyword{"minItems", Form::kCount, "array", "of at least % items"},
    SchemaKeyword{"maxItems", Form::kCount, "array", "of at most % items"},
    SchemaKeyword{"uniqueItems", Form::kFlag, "array", "without equal items"},
    SchemaKeyword{"properties", Form::kNamedSchemas, "object"},
    SchemaKeyword{"propertyOrdering", Form::kNames, "object", "", kNote},
    SchemaKeyword{"required", Form::kNames, "object"},
    SchemaKeyword{"additionalProperties", Form::kSchema, "object"},
    SchemaKeyword{"unevaluatedProperties", Form::kSchema, "object"},
    SchemaKeyword{"patternProperties", Form::kNamedSchemas, "object"},
    SchemaKeyword{"propertyNames", Form::kSchema, "object"},
    SchemaKeyword{"dependentSchemas", Form::kNamedSchemas, "object"},
    SchemaKeyword{"minProperties", Form::kCount, "object", "of at least % members"},
    SchemaKeyword{"maxProperties", Form::kCount, "object", "of at most % members"},
    SchemaKeyword{"anyOf", Form::kSchemas},
    SchemaKeyword{"oneOf", Form::kSchemas},
    SchemaKeyword{"allOf", Form::kSchemas},
    SchemaKeyword{"not", Form::kSchema},
    SchemaKeyword{"if", Form::kSchema},
    SchemaKeyword{"then", Form::kSchema},
    SchemaKeyword{"else", Form::kSchema},
};

constexpr std::array<std::string_view, 7> kTypeNames{"object",  "array",   "string", "number",
                                                     "integer", "boolean", "null"};

// The name of a type in lower case, as some tools write it in capitals; empty: there is no such type.
std::string type_name(const Json& value) {
  std::string name(text_of(&value));
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kTypeNames, name) != kTypeNames.end() ? name : std::string();
}

void add_once(Json& list, Json value) {
  if (std::ranges::find(list, value) == list.end()) list.push_back(std::move(value));
}

std::optional<Json> valid_types(const Json& value) {
  if (!value.is_array()) {
    std::string name = type_name(value);
    return name.empty() ? std::nullopt : std::optional<Json>(std::move(name));
  }
  Json types = Json::array();
  for (const Json& each : value) {
    std::string name = type_name(each);
    if (name.empty()) return std::nullopt;  // the others alone would be too strict
    add_once(types, std::move(name));
  }
  if (types.empty()) return std::nullopt;
  return types.size() == 1 ? Json(types[0]) : types;
}

std::optional<Json> valid_count(const Json& value) {
  if (value.is_number_float()) {
    const auto count = integer_of(&value);
    const bool is_whole = count && *count >= 0 && std::floor(value.get<double>()) == value.get<double>();
    return is_whole ? std::optional<Json>(*count) : std::nullopt;
  }
  return value.is_number_integer() && value >= 0 ? std::optional<Json>(value) : std::nullopt;
}

std::optional<Json> valid_names(const Json& value) {
  if (!value.is_array()) return std::nullopt;
  std::set<std::string_view> seen;
  Json names = Json::array();
  for (const Json& each : value) {
    if (each.is_string() && seen.insert(text_of(&each)).second) names.push_back(each);
  }
  return names;
}

std::optional<Json> valid_schemas(const Json& value) {
  if (!value.is_array() || value.empty()) return std::nullopt;
  Json schemas = Json::array();
  for (const Json& each : value) schemas.push_back(valid_schema(each));
  return schemas;
}

std::optional<Json> valid_named(const Json& value) {
  Json schemas = Json::object();
  if (value.is_null() || (value.is_array() && value.empty())) return schemas;  // as some languages write it
  if (!value.is_object()) return std::nullopt;
  for (const auto& [name, each] : value.items()) schemas[name] = valid_schema(each);
  return schemas;
}

std::optional<Json> valid_value(Form form, const Json& value) {
  const auto if_true = [&](bool is_valid) { return is_valid ? std::optional<Json>(value) : std::nullopt; };
  switch (form) {
    case Form::kSchema:
      return valid_schema(value);
    case Form::kSchemas:
      return valid_schemas(value);
    case Form::kNamedSchemas:
      return valid_named(value);
    case Form::kTypes:
      return valid_types(value);
    case Form::kNames:
      return valid_names(value);
    case Form::kValues:
      return if_true(value.is_array() && !value.empty());
    case Form::kCount:
      return valid_count(value);
    case Form::kNumber:
      return if_true(value.is_number() || schemas::spelling_of(value));
    case Form::kText:
      return if_true(value.is_string());
    case Form::kFlag:
      return if_true(value.is_boolean());
    case Form::kAny:
      break;
  }
  return value;
}

}  // namespace

const SchemaKeyword* schema_keyword(std::string_view name) {
  const auto* found = std::ranges::find(kSchemaKeywords, name, &SchemaKeyword::name);
  return found == kSchemaKeywords.end() ? nullptr : found;
}

std::string_view type_name_of(const Json& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_boolean()) return "boolean";
  return value.is_null() ? "null" : "number";
}

bool applies(const SchemaKeyword& keyword, const Json& schema) {
  if (keyword.type.empty()) return true;
  return allows_type(schema, keyword.type) || (keyword.type == "number" && allows_type(schema, "integer"));
}

bool accepts_all(const Json& schema) { return schema == true || (schema.is_object() && schema.empty()); }

bool allows_type(const Json& schema, std::string_view type) {
  const Json* types = member(schema, "type");
  if (types == nullptr) return true;
  if (!types->is_array()) return text_of(types) == type;
  return std::ranges::any_of(*types, [&](const Json& each) { return text_of(&each) == type; });
}

Json valid_schema(const Json& schema) {
  if (schema.is_boolean()) return schema;
  Json valid = Json::object();
  if (!schema.is_object()) return valid;
  Json types = Json::object();
  if (const Json* given = member(schema, "type")) {
    if (std::optional<Json> value = valid_types(*given)) types["type"] = *std::move(value);
  }
  for (const auto& [name, value] : schema.items()) {
    const bool is_tuple = name == "items" && value.is_array();
    const SchemaKeyword* keyword = schema_keyword(is_tuple ? "prefixItems" : std::string_view(name));
    if (keyword == nullptr) {
      valid[name] = value;
      continue;
    }
    if (!applies(*keyword, types)) continue;
    if (std::optional<Json> made = valid_value(keyword->form, value))
      valid[std::string(keyword->name)] = *std::move(made);
  }
  return valid;
}

namespace {

template <class Value, class Visit>
void visit_schemas(Value& schema, const Visit& visit) {
  if (!schema.is_object()) return;
  visit(schema);
  for (auto at = schema.begin(); at != schema.end(); ++at) {
    const SchemaKeyword* keyword = schema_keyword(at.key());
    if (keyword == nullptr) continue;
    const bool is_tuple = keyword->form == Form::kSchema && at->is_array();  // `items` before draft 2020-12
    if (keyword->form == Form::kSchema && !is_tuple) visit_schemas(*at, visit);
    if (keyword->form != Form::kSchemas && keyword->form != Form::kNamedSchemas && !is_tuple) continue;
    if (!at->is_structured()) continue;
    for (auto& each : *at) visit_schemas(each, visit);
  }
}

}  // namespace

void each_schema(Json& schema, const std::function<void(Json& schema)>& visit) {
  visit_schemas(schema, visit);
}

void each_schema(const Json& schema, const std::function<void(const Json& schema)>& visit) {
  visit_schemas(schema, visit);
}

bool SchemaTree::may_copy(const Json& schema) {
  if (bytes_ <= kBytesMax) bytes_ += schemas::tree_bytes(schema);
  return bytes_ <= kBytesMax;
}

const Json* SchemaTree::target(const Json& schema) {
  const Json* reference = member(schema, "$ref");
  const Json* found = reference == nullptr ? nullptr : referenced(root_, text_of(reference));
  if (found == nullptr) return nullptr;
  const auto known = targets_.find(found);
  if (known != targets_.end()) return &known->second;
  if (!may_copy(*found)) return nullptr;
  return &targets_.emplace(found, valid_schema(*found)).first->second;
}

const Json& SchemaTree::flat(const Json& schema, Json& store) {
  const bool is_flat = !schema.is_object() || (!schema.contains("$ref") && !schema.contains("allOf"));
  if (is_flat) return schema;
  store = Json::object();
  RestrictedSchema merged(store);
  const auto add = [&](const Json& part) {
    if (std::ranges::find(path_, &part) != path_.end()) return;
    const bool is_beyond = path_.size() >= kPathMax || ++steps_ > kStepsMax || !may_copy(part);
    has_lost_ = has_lost_ || is_beyond;
    if (is_beyond) return;
    path_.push_back(&part);
    Json inner;
    merged.add(flat(part, inner));
    path_.pop_back();
  };
  for (const auto& [name, value] : schema.items()) {
    if (name == "$ref") {
      const Json* referred = target(schema);
      has_lost_ = has_lost_ || referred == nullptr;
      if (referred != nullptr) add(*referred);
    } else if (name == "allOf") {
      std::ranges::for_each(value, add);
    } else {
      merged.replace(name, value);
    }
  }
  has_lost_ = has_lost_ || merged.has_lost();
  return store;
}

namespace {

constexpr int kFoldDepthMax = 16;  // of unions within unions

using UnitedProperties = schemas::OrderedObject<std::string, UnitedProperty>;

void unite_properties(const Json& part, UnitedProperties& properties) {
  const Json* named = member(part, "properties");
  if (named == nullptr) return;
  for (const auto& [name, each] : named->items()) {
    const auto known = properties.find(name);
    if (known == properties.end()) {
      properties.emplace(name, UnitedProperty(each));
    } else {
      known->second.add(each);
    }
  }
}

// `parts`: folded alternatives of `schema`.
void take_alternatives(Json& schema, const std::vector<Json>& parts) {
  UnitedProperties united;
  Json required = parts.front().value("required", Json::array());
  for (const Json& part : parts) {
    unite_properties(part, united);
    required = common_values(required, KnownValues(part.value("required", Json::array())));
  }
  Json& properties = schema.emplace("properties", Json::object()).first.value();
  for (auto& [name, each] : united) properties.emplace(name, std::move(each).take());
  if (!required.empty()) RestrictedSchema(schema).add("required", required);
}

}  // namespace

Json SchemaTree::fold(const Json& schema, int depth) {
  Json store;
  Json made = flat(schema, store);
  if (!made.is_object()) return Json::object();
  for (const std::string_view word : kUnionKeywords) {
    const Json* given = member(made, word);
    if (given == nullptr) continue;
    has_lost_ = true;
    std::vector<Json> parts;
    for (const Json& each : *given) {
      if (depth >= kFoldDepthMax || ++steps_ > kStepsMax || !may_copy(each)) {
        parts.assign(1, Json::object());
        break;
      }
      Json part = each == false ? each : fold(each, depth + 1);
      if (part != false && allows_type(part, "object")) parts.push_back(std::move(part));
    }
    made.erase(std::string(word));
    if (!parts.empty()) take_alternatives(made, parts);
  }
  return made;
}

Json SchemaTree::object_root(const Json& schema) {
  Json made = fold(schema, 0);
  for (const char* word : {"not", "enum", "const"}) has_lost_ = made.erase(word) > 0 || has_lost_;
  made["type"] = "object";
  if (!made.contains("properties")) made["properties"] = Json::object();
  return made;
}

bool has_union_root(const Json& schema) {
  return std::ranges::any_of(std::array{"$ref", "anyOf", "oneOf", "allOf", "not", "enum", "const"},
                             [&](const char* word) { return schema.contains(word); });
}

namespace {

Json folded_root(const Json& schema, bool& has_lost) {
  Json valid = valid_schema(schema);
  const bool is_whole = !has_union_root(valid) || define_targets(valid, true);
  SchemaTree tree(valid);
  Json made = tree.object_root(valid);
  const bool has_dropped = drop_lost_references(made);
  has_lost = has_lost || !is_whole || tree.has_lost() || has_dropped;
  return made;
}

}  // namespace

Json object_schema(const Json& schema) {
  bool has_lost = false;
  return folded_root(schema, has_lost);
}

namespace {

bool is_absent(const Json& value) { return value.is_null() || (value.is_array() && value.empty()); }

bool is_object_type(const Json& type) {
  if (type.is_array()) return std::ranges::find(type, Json("object")) != type.end();
  return type.is_null() || type == "object";
}

}  // namespace

std::string_view complete_object_schema(Json& schema) {
  if (is_absent(schema)) schema = Json::object();
  if (!schema.is_object()) return "its schema is not an object";
  if (!is_object_type(schema.value("type", Json()))) return "its schema does not describe an object";
  const Json* properties = member(schema, "properties");
  if (properties != nullptr && !properties->is_object() && !is_absent(*properties))
    return "the properties of its schema are not an object";
  schema["type"] = "object";
  schema = valid_schema(schema);
  schema.emplace("properties", Json::object());
  return {};
}

Json strict_object_schema(const Json* parameters, bool& is_loosened) {
  const Json none = {{"properties", Json::object()}};
  const Json& schema = parameters != nullptr ? *parameters : none;
  Json made = folded_root(schema, is_loosened);
  const Json* properties = member(schema, "properties");
  const bool is_empty = properties != nullptr && properties->is_object() && properties->empty();
  if (is_empty && made["properties"].empty()) made.emplace("additionalProperties", false);
  return made;
}

}  // namespace millrace::providers

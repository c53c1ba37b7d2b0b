#include "ai/providers/gemini/schema.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "ai/providers/json_schema.h"
#include "ai/providers/schema_merge.h"
#include "ai/providers/schema_subset.h"
#include "schemas/json/json_body.h"

namespace millrace::providers {
namespace {

constexpr std::string_view kPropertyOrdering = "propertyOrdering";

// The keywords that Gemini reads of a type other than its content.
struct TypeKeywords {
  std::string_view type;
  std::array<std::string_view, 3> keywords;
  std::array<std::string_view, 2> formats;
};
constexpr std::array kTypes = {
    TypeKeywords{"string", {"minLength", "maxLength", "pattern"}, {"date-time", "enum"}},
    TypeKeywords{"integer", {"minimum", "maximum"}, {"int32", "int64"}},
    TypeKeywords{"number", {"minimum", "maximum"}, {"float", "double"}},
    TypeKeywords{"boolean", {}, {}},
    TypeKeywords{"array", {"minItems", "maxItems"}, {}},
    TypeKeywords{"object", {"minProperties", "maxProperties"}, {}},
};
constexpr std::array<std::string_view, 4> kNotes = {"title", "description", "default", "example"};

// The type of a schema without one, from its keywords; empty: any.
std::string_view implied_type(const Json& schema) {
  std::string_view type;
  for (const auto& [name, value] : schema.items()) {
    const SchemaKeyword* keyword = schema_keyword(name);
    if (keyword != nullptr && !keyword->is_note && !keyword->type.empty()) type = keyword->type;
  }
  return type;
}

// The types that a schema allows, without null; empty: any.
std::vector<std::string_view> types_of(const Json& schema) {
  std::vector<std::string_view> types;
  const Json* given = member(schema, "type");
  if (given == nullptr) {
    if (const std::string_view type = implied_type(schema); !type.empty()) types.push_back(type);
  } else if (given->is_string()) {
    types.push_back(text_of(given));
  } else {
    for (const Json& each : *given) types.push_back(text_of(&each));
  }
  std::erase(types, "null");
  return types;
}

bool is_only_null(const Json& schema) { return text_of(schema, "type") == "null"; }

// Each schema needs a type, so a value of any type is one of all types. `lists`: how deep lists may be
// nested.
Json any_value(int lists = 2) {
  Json types = Json::array({{{"type", "string"}, {"nullable", true}},
                            {{"type", "number"}},
                            {{"type", "boolean"}},
                            {{"type", "object"}}});
  if (lists > 0) types.push_back({{"type", "array"}, {"items", any_value(lists - 1)}});
  return {{"anyOf", std::move(types)}};
}
Json any_item() { return any_value(1); }

// anyOf must be alone, so alternatives that are unions themselves become part of the outer one.
Json any_of(std::vector<Json> parts) {
  Json all = Json::array();
  std::set<std::string> known;
  const auto add = [&](Json&& part) {
    if (known.insert(schemas::dump(part)).second) all.push_back(std::move(part));
  };
  for (Json& part : parts) {
    const auto inner = part.find("anyOf");
    if (inner == part.end()) {
      add(std::move(part));
    } else {
      for (Json& each : *inner) add(std::move(each));
    }
  }
  return all.size() == 1 ? Json(std::move(all[0])) : Json{{"anyOf", std::move(all)}};
}

void allow_null(Json& made) {
  const auto parts = made.find("anyOf");
  (parts == made.end() ? made : parts->front())["nullable"] = true;
}

void describe_values(Json& made, const Json& values) {
  std::string text(text_of(made, "description"));
  text.append(text.empty() ? "" : " ").append("One of ").append(schemas::dump(values)).append(".");
  made["description"] = std::move(text);
}

class Trimmer {
 public:
  explicit Trimmer(const Json& root) : tree_(root) {}

  // `base`: what the schema's parent demands of it, if it is an alternative; may be null.
  Json trim(const Json& schema, int depth, const Json* base = nullptr) {
    if (!schema.is_object()) return any_value();
    const std::vector<const Json*> targets = targets_of(schema);
    const auto is_open = [&](const Json* target) { return std::ranges::find(path_, target) != path_.end(); };
    const bool is_cycle = std::ranges::any_of(targets, is_open);
    Json store;
    const Json* flat = &tree_.flat(schema, store);
    if (is_cycle || depth >= kGeminiSchemaDepthMax || ++nodes_ > kGeminiSchemaNodesMax) return shallow(*flat);
    if (base != nullptr && !tree_.may_copy(*base)) return shallow(*flat);
    if (base != nullptr) {
      Json both = *flat;
      restrict_schema(both, *base);
      store = std::move(both);
      flat = &store;
    }
    path_.insert(path_.end(), targets.begin(), targets.end());
    Json made = write(*flat, depth);
    path_.resize(path_.size() - targets.size());
    return made;
  }

 private:
  // What the schema is replaced by before its content is read.
  std::vector<const Json*> targets_of(const Json& schema) {
    std::vector<const Json*> targets;
    const auto add = [&](const Json& part) {
      if (const Json* target = tree_.target(part)) targets.push_back(target);
    };
    add(schema);
    if (const Json* parts = member(schema, "allOf")) std::ranges::for_each(*parts, add);
    return targets;
  }

  // The type alone.
  static Json shallow(const Json& schema) {
    const std::vector<std::string_view> types = types_of(schema);
    if (types.size() != 1) return any_value();
    Json made = {{"type", types[0]}};
    if (types[0] == "array") made["items"] = any_item();
    if (allows_type(schema, "null") && schema.contains("type")) made["nullable"] = true;
    return made;
  }

  Json write(const Json& schema, int depth) {
    bool is_nullable = is_true(member(schema, "nullable"));
    is_nullable = is_nullable || (schema.contains("type") && allows_type(schema, "null"));
    Json made = content(schema, depth, is_nullable);
    if (is_nullable) allow_null(made);
    return made;
  }

  Json content(const Json& schema, int depth, bool& is_nullable) {
    for (const std::string_view word : kUnionKeywords) {
      if (const Json* parts = member(schema, word)) return alternatives(schema, *parts, depth, is_nullable);
    }
    if (const auto constant = schema.find("const"); constant != schema.end())
      return values(schema, Json::array({*constant}), is_nullable);
    if (const Json* given = member(schema, "enum")) return values(schema, *given, is_nullable);
    const std::vector<std::string_view> types = types_of(schema);
    std::vector<Json> parts;
    for (const std::string_view type : types) parts.push_back(typed(schema, type, depth));
    if (!parts.empty()) return any_of(std::move(parts));
    if (is_only_null(schema)) return with_notes(schema, "string");
    Json any = any_value();
    any["anyOf"][0].update(with_notes(schema, "string"));
    is_nullable = true;
    return any;
  }

  // An alternative has to meet the demands of the whole, too.
  Json alternatives(const Json& schema, const Json& given, int depth, bool& is_nullable) {
    Json base = schema;
    for (const std::string_view word : kUnionKeywords) base.erase(std::string(word));
    std::vector<Json> parts;
    for (const Json& each : given) {
      if (is_only_null(each)) {
        is_nullable = true;
      } else if (each != false) {
        parts.push_back(trim(each, depth + 1, &base));
      }
    }
    return parts.empty() ? with_notes(schema, "string") : any_of(std::move(parts));
  }

  static Json with_notes(const Json& schema, std::string_view type) {
    Json made = {{"type", type}};
    for (const std::string_view name : kNotes) {
      if (const Json* value = member(schema, name)) made[std::string(name)] = *value;
    }
    return made;
  }

  // Gemini only supports enums of strings, which may not be empty. Other values are listed in the
  // description.
  static Json values(const Json& schema, const Json& given, bool& is_nullable) {
    Json texts = Json::array(), numbers = Json::array();
    std::vector<Json> parts;
    bool has_empty_text = false, all_whole = true;
    for (const Json& each : given) {
      if (each.is_string()) {
        has_empty_text = has_empty_text || each == "";
        if (each != "") texts.push_back(each);
      } else if (each.is_number() || schemas::spelling_of(each)) {
        numbers.push_back(each);
        all_whole = all_whole && !each.is_number_float();
      } else if (each.is_null()) {
        is_nullable = true;
      } else {
        const char* type = each.is_boolean() ? "boolean" : each.is_array() ? "array" : "object";
        parts.push_back(with_notes(schema, type));
        if (each.is_array()) parts.back()["items"] = any_item();
      }
    }
    if (!texts.empty() || has_empty_text) {
      parts.push_back(with_notes(schema, "string"));
      if (!texts.empty()) parts.back()["enum"] = std::move(texts);
    }
    if (!numbers.empty()) {
      parts.push_back(with_notes(schema, all_whole ? "integer" : "number"));
      describe_values(parts.back(), numbers);
    }
    return parts.empty() ? with_notes(schema, "string") : any_of(std::move(parts));
  }

  Json typed(const Json& schema, std::string_view type, int depth) {
    Json made = with_notes(schema, type);
    const auto* known = std::ranges::find(kTypes, type, &TypeKeywords::type);
    if (known == kTypes.end()) return made;
    for (const std::string_view name : known->keywords) {
      if (const Json* value = name.empty() ? nullptr : member(schema, name)) made[std::string(name)] = *value;
    }
    const std::string_view format = text_of(schema, "format");
    if (!format.empty() && std::ranges::find(known->formats, format) != known->formats.end())
      made["format"] = format;
    if (type == "array") made["items"] = items(schema, depth);
    if (type == "object") take_members(schema, depth, made);
    return made;
  }

  // A tuple is a list of what its items may be.
  Json items(const Json& schema, int depth) {
    const auto found = schema.find("items");
    const Json* rest = found == schema.end() || *found == false ? nullptr : &*found;
    const Json* first = member(schema, "prefixItems");
    if (first == nullptr) return rest != nullptr ? trim(*rest, depth + 1) : any_item();
    const auto most = integer_of(schema, "maxItems").value_or(INT64_MAX);
    const bool has_end = found != schema.end() || most <= static_cast<std::int64_t>(first->size());
    Json each = {{"anyOf", *first}};
    if (rest != nullptr) each["anyOf"].push_back(*rest);
    Json made = trim(each, depth + 1);
    return has_end ? made : any_of({std::move(made), any_item()});
  }

  // Gemini rejects empty `properties`, and names in `required` that are none of them.
  void take_members(const Json& schema, int depth, Json& made) {
    const Json* properties = member(schema, "properties");
    if (properties == nullptr) return;
    Json members = Json::object();
    for (const auto& [name, value] : properties->items()) {
      if (value != false) members[name] = trim(value, depth + 1);
    }
    if (members.empty()) return;
    const auto names = [&](std::string_view keyword) {
      Json known = Json::array();
      const Json* given = member(schema, keyword);
      for (const Json& name : given != nullptr ? *given : Json::array()) {
        if (members.contains(text_of(&name))) known.push_back(name);
      }
      return known;
    };
    if (Json required = names("required"); !required.empty()) made["required"] = std::move(required);
    if (Json order = names(kPropertyOrdering); order.size() == members.size())
      made[std::string(kPropertyOrdering)] = std::move(order);
    made["properties"] = std::move(members);
  }

  SchemaTree tree_;
  int nodes_ = 0;
  std::vector<const Json*> path_;  // of the references that are being expanded
};

// The documented keywords of responseJsonSchema.
constexpr std::array<std::string_view, 20> kAnswerKeywords = {"$id",         "$defs",
                                                              "$ref",        "$anchor",
                                                              "type",        "format",
                                                              "title",       "description",
                                                              "enum",        "items",
                                                              "prefixItems", "minItems",
                                                              "maxItems",    "minimum",
                                                              "maximum",     "anyOf",

                                                              "properties",  "additionalProperties",
                                                              "required",    kPropertyOrdering};
constexpr SchemaSubset kAnswer{
    .keywords = kAnswerKeywords,
    .lists = [](const Json& value) { return value.is_string() || type_name_of(value) == "number"; },
    .has_optional_cycles = true};

// Adds `propertyOrdering` to each object with two or more properties that has none.
void add_property_ordering(Json& schema) {
  each_schema(schema, [](Json& each) {
    const Json* properties = member(each, "properties");
    const Json* given = member(each, kPropertyOrdering);
    if (properties == nullptr || !properties->is_object() || properties->size() < 2) return;
    if (given != nullptr && given->is_array()) return;
    Json names = Json::array();
    for (const auto& [name, value] : properties->items()) names.push_back(name);
    each[std::string(kPropertyOrdering)] = std::move(names);
  });
}

}  // namespace

Json gemini_parameters(const Json& schema) {
  const Json valid = valid_schema(schema);
  Json made = Trimmer(valid).trim(SchemaTree(valid).object_root(valid), 0);
  add_property_ordering(made);
  return made;
}

SubsetSchema gemini_answer_schema(const Json& schema) {
  SubsetSchema made = schema_within(kAnswer, schema).value_or(SubsetSchema{});
  add_property_ordering(made.schema);
  return made;
}

}  // namespace millrace::providers

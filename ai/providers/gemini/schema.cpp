#include "ai/providers/gemini/schema.h"

#include <algorithm>
#include <array>

#include "ai/providers/json_access.h"
#include "schemas/json/json_body.h"

namespace millrace::providers {
namespace {

constexpr std::string_view kPropertyOrdering = "propertyOrdering";
constexpr std::array<std::string_view, 15> kKept = {
    "title",         "description",   "nullable",  "minItems",  "maxItems",
    "minProperties", "maxProperties", "minLength", "maxLength", "pattern",
    "minimum",       "maximum",       "default",   "example",   kPropertyOrdering};
constexpr std::array<std::string_view, 6> kFormats = {"int32",  "int64",     "float",
                                                      "double", "date-time", "enum"};

bool is_null_type(const Json& schema) { return text_of(schema, "type") == "null"; }

class Trimmer {
 public:
  explicit Trimmer(const Json& root) : root_(root) {}

  Json trim(const Json& schema, int depth) {
    if (!schema.is_object()) return {{"type", "string"}};
    if (depth >= kGeminiSchemaDepthMax || ++nodes_ > kGeminiSchemaNodesMax) return {{"type", "object"}};
    Json made = Json::object();
    if (const std::string_view reference = text_of(schema, "$ref"); !reference.empty()) {
      const Json* meant = referenced(root_, reference);
      made = meant != nullptr ? trim(*meant, depth + 1) : Json{{"type", "object"}};
    }
    take_all_of(schema, depth, made);
    take_plain(schema, made);
    take_type(schema, made);
    take_unions(schema, depth, made);
    take_enum(schema, made);
    take_members(schema, depth, made);
    settle(made);
    return made;
  }

 private:
  void take_all_of(const Json& schema, int depth, Json& made) {
    const Json* all = member(schema, "allOf");
    if (all == nullptr || !all->is_array()) return;
    for (const Json& part : *all) merge(made, trim(part, depth + 1));
  }

  static void merge(Json& made, Json&& part) {
    for (auto& [name, value] : part.items()) {
      if (name == kPropertyOrdering) continue;  // of one part alone
      if (name == "properties" && made.contains(name)) {
        made[name].update(value);
      } else if (name == "required" && made.contains(name)) {
        for (Json& one : value) made[name].push_back(std::move(one));
      } else {
        made[name] = std::move(value);
      }
    }
  }

  static void take_plain(const Json& schema, Json& made) {
    for (const std::string_view name : kKept) {
      if (const Json* value = member(schema, name)) made[std::string(name)] = *value;
    }
    const std::string_view format = text_of(schema, "format");
    if (std::find(kFormats.begin(), kFormats.end(), format) != kFormats.end()) made["format"] = format;
  }

  static void take_type(const Json& schema, Json& made) {
    const Json* type = member(schema, "type");
    if (type == nullptr) return;
    if (type->is_string()) {
      made["type"] = *type;
      return;
    }
    Json types = Json::array();
    for (const Json& one : *type) {
      if (text_of(&one) == "null") {
        made["nullable"] = true;
      } else {
        types.push_back({{"type", one}});
      }
    }
    if (types.size() == 1) {
      made["type"] = types[0]["type"];
    } else if (types.size() > 1) {
      made["anyOf"] = std::move(types);
    }
  }

  void take_unions(const Json& schema, int depth, Json& made) {
    for (const std::string_view word : {"anyOf", "oneOf"}) {
      const Json* any = member(schema, word);
      if (any == nullptr || !any->is_array()) continue;
      Json choices = Json::array();
      for (const Json& one : *any) {
        if (is_null_type(one)) {
          made["nullable"] = true;
        } else {
          choices.push_back(trim(one, depth + 1));
        }
      }
      if (choices.size() == 1) {
        for (auto& [name, value] : choices[0].items()) made.emplace(name, std::move(value));
      } else if (!choices.empty()) {
        made["anyOf"] = std::move(choices);
      }
    }
  }

  // Gemini only supports enums of strings. Other values are listed in the description.
  static void take_enum(const Json& schema, Json& made) {
    Json values = Json::array();
    if (const Json* constant = member(schema, "const")) values.push_back(*constant);
    if (const Json* given = member(schema, "enum"); given != nullptr && given->is_array()) values = *given;
    const std::size_t all = values.size();
    std::erase_if(values.get_ref<Json::array_t&>(), [](const Json& one) { return one.is_null(); });
    if (values.size() < all) made["nullable"] = true;
    if (values.empty()) return;
    if (std::all_of(values.begin(), values.end(), [](const Json& one) { return one.is_string(); })) {
      made["type"] = "string";
      made["enum"] = std::move(values);
      return;
    }
    std::string words(text_of(made, "description"));
    words.append(words.empty() ? "" : " ").append("One of ").append(schemas::dump(values)).append(".");
    made["description"] = std::move(words);
    if (!made.contains("type")) made["type"] = values[0].is_boolean() ? "boolean" : "number";
  }

  void take_members(const Json& schema, int depth, Json& made) {
    if (const Json* properties = member(schema, "properties");
        properties != nullptr && properties->is_object()) {
      for (const auto& [name, value] : properties->items()) made["properties"][name] = trim(value, depth + 1);
    }
    if (const Json* required = member(schema, "required"); required != nullptr && required->is_array()) {
      for (const Json& name : *required) made["required"].push_back(name);
    }
    const Json* items = member(schema, "items");
    const Json* first = member(schema, "prefixItems");
    if (items != nullptr && items->is_array()) first = items;
    if (first != nullptr && first->is_array() && !first->empty()) items = &first->front();
    if (items != nullptr) made["items"] = trim(*items, depth + 1);
  }

  // Adds what Gemini requires of every schema.
  static void settle(Json& made) {
    if (!made.contains("type") && !made.contains("anyOf")) {
      made["type"] = made.contains("properties") ? "object" : made.contains("items") ? "array" : "string";
    }
    if (text_of(made, "type") == "array" && !made.contains("items")) made["items"] = {{"type", "string"}};
    const Json* required = member(made, "required");
    if (required == nullptr) return;
    Json known = Json::array();
    for (const Json& name : *required) {
      const bool is_there = name.is_string() && member(member(made, "properties"), text_of(&name)) != nullptr;
      if (is_there && std::find(known.begin(), known.end(), name) == known.end()) known.push_back(name);
    }
    if (known.empty()) {
      made.erase("required");
    } else {
      made["required"] = std::move(known);
    }
  }

  const Json& root_;
  int nodes_ = 0;
};

// Keywords whose value is a schema or a list of schemas, and keywords whose value has a schema per name.
constexpr std::array<std::string_view, 6> kWithSchemas = {"items", "prefixItems", "anyOf",
                                                          "oneOf", "allOf",       "additionalProperties"};
constexpr std::array<std::string_view, 3> kWithNamedSchemas = {"properties", "$defs", "definitions"};

}  // namespace

void add_property_ordering(Json& schema) {
  if (schema.is_array()) {
    for (Json& each : schema) add_property_ordering(each);
  }
  if (!schema.is_object()) return;
  for (const std::string_view keyword : kWithSchemas) {
    if (const auto at = schema.find(keyword); at != schema.end()) add_property_ordering(*at);
  }
  for (const std::string_view keyword : kWithNamedSchemas) {
    const auto at = schema.find(keyword);
    if (at == schema.end() || !at->is_object()) continue;
    for (Json& each : *at) add_property_ordering(each);
  }
  const Json* properties = member(schema, "properties");
  const Json* given = member(schema, kPropertyOrdering);
  if (properties == nullptr || !properties->is_object() || properties->size() < 2) return;
  if (given != nullptr && given->is_array()) return;
  Json names = Json::array();
  for (const auto& [name, value] : properties->items()) names.push_back(name);
  schema[std::string(kPropertyOrdering)] = std::move(names);
}

Json gemini_schema(const Json& schema) {
  Json made = Trimmer(schema).trim(schema, 0);
  add_property_ordering(made);
  return made;
}

}  // namespace millrace::providers

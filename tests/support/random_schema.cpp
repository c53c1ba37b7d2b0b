#include "tests/support/random_schema.h"

#include <algorithm>
#include <array>

#include "tests/support/schema_rules.h"

namespace millrace::support {

using schemas::Json;

namespace {

constexpr std::array<const char*, 6> kNames{"query", "max_results", "b", "zone", "filter-by", "data.id"};
constexpr std::array<const char*, 3> kDefinitions{"Node", "Address", "Money"};
constexpr std::array<const char*, 4> kPatterns{"^[a-z]+$", "\\d{3}", "^(?!x).*$", "\\bword\\b"};
constexpr std::array<const char*, 5> kFormats{"date-time", "email", "uri-reference", "int32", "uuid"};
// Places besides the definitions that references lead to. A root has only some of them.
constexpr std::array<const char*, 7> kPlaces{
    "#/components/schemas/Pet", "#/components/schemas/Tag",    "#/properties/query", "#/oneOf/0", "#/allOf/0",
    "#/anyOf/0/properties/b",   "#/properties/b/items/anyOf/0"};
constexpr const char* kComponents = R"({"schemas": {
    "Pet": {"type": "object", "properties": {"b": {"$ref": "#/components/schemas/Tag"}}, "required": ["b"]},
    "Tag": {"type": "string", "maxLength": 9}}})";
constexpr int kDepthMax = 4;
constexpr int kDeep = 5;  // values of any type have no members or items from here on

}  // namespace

Json RandomSchema::tool() {
  has_definitions_ = true;
  const int kind = below(10);
  Json root;
  if (kind == 0) {
    root = reference();
  } else if (kind == 1) {
    const char* word = chance(50) ? "anyOf" : "oneOf";
    root = {{word, Json::array({object(1), object(1), chance(50) ? reference() : object(1)})}};
    if (chance(50)) root["type"] = "object";
    if (chance(30)) root[word].push_back({{"type", "null"}});
  } else if (kind == 2) {
    root = all_of(0);
  } else if (kind == 3) {
    root = chosen_members(0);
  } else {
    root = object(0);
  }
  return with_definitions(std::move(root));
}

Json RandomSchema::answer() {
  has_definitions_ = true;
  if (chance(70)) return tool();
  Json root = schema(0);
  return with_definitions(root.is_object() ? std::move(root) : Json::object());
}

Json RandomSchema::with_definitions(Json root) {
  const char* where = chance(70) ? "$defs" : "definitions";
  std::string text;
  if (chance(50)) root["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  for (const char* name : kDefinitions) root["$defs"][name] = chance(70) ? object(2) : schema(2);
  root["components"] = Json::parse(kComponents);
  if (where != std::string("$defs")) {
    text = root.dump();
    for (std::size_t at = 0; (at = text.find("\"#/$defs/", at)) != std::string::npos;)
      text.replace(at, 9, "\"#/definitions/");
    const std::string key = "\"$defs\":";
    text.replace(text.rfind(key), key.size(), "\"definitions\":");
    root = Json::parse(text);
  }
  return root;
}

Json RandomSchema::schema(int depth) {
  const bool is_leaf = depth >= kDepthMax;
  Json made;
  switch (below(is_leaf ? 5 : 14)) {
    case 0:
    case 1:
      made = text();
      break;
    case 2:
      made = number();
      break;
    case 3:
      made = values();
      break;
    case 4:
      if (chance(60)) return {{"type", "boolean"}};
      return chance(40) ? Json(true) : chance(50) ? Json::object() : Json{{"description", "anything"}};
    case 5:
    case 6:
      made = list(depth + 1);
      break;
    case 7:
    case 8:
      made = object(depth + 1);
      break;
    case 9:
      made = unions(depth + 1);
      break;
    case 10:
      made = types(depth + 1);
      break;
    case 11:
      made = chance(50) ? all_of(depth + 1) : chosen_members(depth + 1);
      break;
    case 12:
      made = reference();
      break;
    default:
      made = stray(depth + 1);
  }
  if (chance(30)) made["description"] = "what it is";
  if (chance(10)) made["title"] = "Title";
  if (chance(5)) made["examples"] = Json::array({1});
  if (chance(5)) made["x-order"] = 3;
  return made;
}

Json RandomSchema::text() {
  Json made = {{"type", "string"}};
  if (chance(15)) made["minLength"] = below(3);
  if (chance(15)) made["maxLength"] = 5 + below(5);
  if (chance(15)) made["pattern"] = kPatterns[static_cast<std::size_t>(below(4))];
  if (chance(20)) made["format"] = kFormats[static_cast<std::size_t>(below(5))];
  if (chance(20)) made["enum"] = chance(30) ? Json({"a", "", "b"}) : Json({"a", "b"});
  if (chance(10)) made["default"] = "a";
  return made;
}

Json RandomSchema::number() {
  Json made = {{"type", chance(50) ? "integer" : "number"}};
  if (chance(25)) made["minimum"] = below(3);
  if (chance(25)) made["maximum"] = 50 + below(9);
  if (chance(15)) made["exclusiveMinimum"] = -1;
  if (chance(10)) made["multipleOf"] = 1;
  if (chance(10)) made["format"] = chance(50) ? "int32" : "double";
  return made;
}

Json RandomSchema::list(int depth) {
  Json made = {{"type", "array"}};
  if (chance(20)) {
    made["prefixItems"] = Json::array({schema(depth), schema(depth)});
    if (chance(40)) made["items"] = false;
  } else if (chance(80)) {
    made["items"] = schema(depth);
  }
  if (chance(20)) made["minItems"] = below(3);
  if (chance(20)) made["maxItems"] = 3;
  if (chance(10)) made["uniqueItems"] = true;
  return made;
}

Json RandomSchema::object(int depth) {
  Json made = {{"type", "object"}};
  const int count = below(5);
  for (int i = 0; i < count; ++i) {
    const std::string name = kNames[static_cast<std::size_t>(below(kNames.size()))];
    made["properties"][name] = schema(depth + 1);
    if (chance(40)) made["required"].push_back(name);
  }
  if (made.contains("required") && chance(15)) made["required"].push_back("nowhere");
  if (chance(25))
    made["additionalProperties"] = false;
  else if (chance(20))
    made["additionalProperties"] = chance(50) ? Json(true) : schema(depth + 1);
  if (chance(5)) made["minProperties"] = 1;
  if (chance(5)) made["patternProperties"] = {{"^x-", {{"type", "string"}}}};
  if (chance(5)) made["if"] = {{"required", {"b"}}}, made["then"] = {{"required", {"zone"}}};
  return made;
}

// An object of which one of several members is required.
Json RandomSchema::chosen_members(int depth) {
  Json made = {{"type", "object"},
               {"properties", {{"query", schema(depth + 1)}, {"zone", schema(depth + 1)}, {"b", number()}}}};
  made[chance(70) ? "anyOf" : "oneOf"] = {{{"required", {"query"}}}, {{"required", {"zone"}}}};
  if (chance(40)) made["required"] = {"b"};
  return made;
}

Json RandomSchema::unions(int depth) {
  Json parts = Json::array({schema(depth), schema(depth)});
  if (chance(50)) parts.push_back({{"type", "null"}});
  Json made = {{chance(70) ? "anyOf" : "oneOf", std::move(parts)}};
  if (chance(20)) made["default"] = nullptr;
  return made;
}

Json RandomSchema::types(int depth) {
  switch (below(4)) {
    case 0:
      return {{"type", {"string", "null"}}, {"minLength", 1}};
    case 1:
      return {{"type", {"string", "array"}}, {"items", schema(depth)}, {"maxLength", 9}};
    case 2:
      return {{"type", {"object", "null"}}, {"properties", {{"b", schema(depth)}}}};
    default:
      return {{"type", {"integer", "string", "boolean"}}};
  }
}

Json RandomSchema::all_of(int depth) {
  Json parts =
      Json::array({object(depth + 1), chance(50) && has_definitions_ ? reference() : object(depth + 1)});
  Json made = {{"allOf", std::move(parts)}};
  if (chance(30)) made["properties"]["query"] = schema(depth + 1);
  return made;
}

Json RandomSchema::reference() {
  const int kind = below(20);
  if (kind == 0) return {{"$ref", "https://example.com/other.json"}};
  if (kind == 1) return {{"$ref", "#/$defs/missing"}};
  if (kind == 2) return {{"$ref", "#"}};
  if (kind < 6) return {{"$ref", kPlaces[static_cast<std::size_t>(below(kPlaces.size()))]}};
  return {{"$ref", std::string("#/$defs/") + kDefinitions[static_cast<std::size_t>(below(3))]}};
}

Json RandomSchema::values() {
  switch (below(8)) {
    case 0:
      return {{"const", "fixed"}};
    case 1:
      return {{"const", 4}};
    case 2:
      return {{"enum", {"x", "y", nullptr}}};
    case 3:
      return {{"type", "integer"}, {"enum", {1, 2, 3}}};
    case 4:
      return {{"enum", {"auto", 1, true}}};
    case 5:
      return {{"type", "boolean"}, {"const", true}};
    case 6:
      return {{"enum", Json::array({Json{{"a", 1}}, "x"})}};
    default:
      return {{"type", "string"}, {"enum", {"s", "m", "l"}}};
  }
}

// Keywords of another type have no effect.
Json RandomSchema::stray(int depth) {
  switch (below(4)) {
    case 0:
      return {{"type", "string"}, {"items", schema(depth)}};
    case 1:
      return {{"type", "array"}, {"items", text()}, {"properties", {{"b", text()}}}, {"required", {"b"}}};
    case 2:
      return {{"type", "integer"}, {"minLength", 3}, {"pattern", "x"}};
    default:
      return {{"type", "object"}, {"properties", {{"b", schema(depth)}}}, {"maximum", 3}, {"enum", Json()}};
  }
}

std::optional<Json> RandomSchema::value(const Json& root) {
  root_ = &root;
  for (int i = 0; i < 6; ++i) {
    Json made = value_of(root, 0);
    if (fits(root, made) && fits(root, made, true)) return made;
  }
  return std::nullopt;
}

Json RandomSchema::any_value(int depth) {
  switch (below(depth >= kDeep ? 4 : 6)) {
    case 0:
      return "text";
    case 1:
      return below(9);
    case 2:
      return true;
    case 3:
      return nullptr;
    case 4:
      return Json::array({"x", 1});
    default:
      return {{"any", "thing"}};
  }
}

Json RandomSchema::value_of(const Json& schema, int depth) {
  if (!schema.is_object() || depth > 12) return any_value(depth);
  if (schema.contains("const")) return schema["const"];
  if (schema.contains("enum") && schema["enum"].is_array()) {
    const Json& all = schema["enum"];
    return all[static_cast<std::size_t>(below(static_cast<int>(all.size())))];
  }
  Json made;
  const auto add = [&](Json more) {
    if (made.is_object() && more.is_object()) {
      made.update(more);
    } else {
      made = std::move(more);
    }
  };
  bool has_made = false;
  if (const Json* target = target_of(*root_, schema)) add(value_of(*target, depth + 1)), has_made = true;
  if (schema.contains("allOf")) {
    for (const Json& part : schema["allOf"]) add(value_of(part, depth + 1)), has_made = true;
  }
  for (const char* word : {"anyOf", "oneOf"}) {
    if (!schema.contains(word)) continue;
    const Json& parts = schema[word];
    const Json& part = parts[static_cast<std::size_t>(below(static_cast<int>(parts.size())))];
    Json chosen = part;
    if (chosen.is_object() && chosen.size() == 1 && chosen.contains("required") &&
        schema.contains("properties")) {
      chosen["type"] = "object";
      chosen["properties"] = schema["properties"];
    }
    add(value_of(chosen, depth + 1));
    has_made = true;
  }
  if (schema.contains("type")) {
    const Json& type = schema["type"];
    const std::string name =
        type.is_array()
            ? type[static_cast<std::size_t>(below(static_cast<int>(type.size())))].get<std::string>()
            : type.get<std::string>();
    if (!has_made || name == "object") add(value_of_type(schema, name, depth));
  } else if (schema.contains("properties")) {
    add(value_of_type(schema, "object", depth));
  } else if (!has_made) {
    return any_value(depth);
  }
  return made;
}

Json RandomSchema::value_of_type(const Json& schema, const std::string& type, int depth) {
  if (type == "string") return schema.contains("pattern") ? "abc" : chance(20) ? "abcd" : "ab";
  if (type == "integer") return 3 + below(40);
  if (type == "number") return 3.5 + below(40);
  if (type == "boolean") return chance(50);
  if (type == "null") return nullptr;
  if (type == "array") {
    Json made = Json::array();
    if (schema.contains("prefixItems")) {
      for (const Json& each : schema["prefixItems"]) made.push_back(value_of(each, depth + 1));
    }
    const int count = depth > 8 ? 0 : below(4);
    if (!schema.contains("items") || schema["items"] != Json(false)) {
      for (int i = 0; i < count; ++i)
        made.push_back(schema.contains("items") ? value_of(schema["items"], depth + 1) : any_value(kDeep));
    }
    return made;
  }
  Json made = Json::object();
  if (schema.contains("properties")) {
    for (const auto& [name, member] : schema["properties"].items()) {
      const bool is_required = schema.contains("required") &&
                               std::find(schema["required"].begin(), schema["required"].end(), Json(name)) !=
                                   schema["required"].end();
      if (is_required || (depth < 8 && chance(60))) made[name] = value_of(member, depth + 1);
    }
  }
  const auto more = schema.find("additionalProperties");
  if (more != schema.end() && more->is_object() && chance(50)) made["more"] = value_of(*more, depth + 1);
  const bool wants_nowhere =
      schema.contains("required") &&
      std::ranges::find(schema["required"], Json("nowhere")) != schema["required"].end();
  if (wants_nowhere) made["nowhere"] = any_value(depth);
  return made;
}

}  // namespace millrace::support

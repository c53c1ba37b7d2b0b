#include "tests/support/schema_rules.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <vector>

namespace millrace::support {

using schemas::Json;

namespace {

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::string type_of(const Json& schema) {
  const auto at = schema.find("type");
  return at != schema.end() && at->is_string() ? at->get<std::string>() : "";
}

// The first fault of a schema and its subschemas. `one` judges a schema without its subschemas.
class Walk {
 public:
  using One = std::function<std::string(const Json& schema)>;
  explicit Walk(One one) : one_(std::move(one)) {}

  std::string visit(const Json& schema, const std::string& path) {
    if (!schema.is_object()) return schema.is_boolean() ? "" : path + ": is no schema";
    if (std::string fault = one_(schema); !fault.empty()) return path + ": " + fault;
    for (const auto& [name, value] : schema.items()) {
      std::string fault;
      if (is_one_of(name, {"items", "additionalProperties", "contains", "not", "if", "then", "else"})) {
        fault = visit(value, path + "/" + name);
      } else if (is_one_of(name, {"anyOf", "oneOf", "allOf", "prefixItems"})) {
        if (!value.is_array() || value.empty()) return path + "/" + name + ": is no list of schemas";
        for (std::size_t i = 0; i < value.size() && fault.empty(); ++i)
          fault = visit(value[i], path + "/" + name + "/" + std::to_string(i));
      } else if (is_one_of(name, {"properties", "$defs", "definitions", "patternProperties"})) {
        if (!value.is_object()) return path + "/" + name + ": is no object of schemas";
        for (const auto& [member, each] : value.items()) {
          if (fault.empty()) fault = visit(each, path + "/" + name + "/" + member);
        }
      }
      if (!fault.empty()) return fault;
    }
    return "";
  }

 private:
  One one_;
};

// True: the types of a schema include one for which the keyword has a meaning.
bool belongs(std::string_view keyword, const Json& schema) {
  static const std::map<std::string_view, std::vector<std::string>> kTypes{
      {"minLength", {"string"}},
      {"maxLength", {"string"}},
      {"pattern", {"string"}},
      {"minimum", {"number", "integer"}},
      {"maximum", {"number", "integer"}},
      {"exclusiveMinimum", {"number", "integer"}},
      {"exclusiveMaximum", {"number", "integer"}},
      {"multipleOf", {"number", "integer"}},
      {"items", {"array"}},
      {"prefixItems", {"array"}},
      {"minItems", {"array"}},
      {"maxItems", {"array"}},
      {"properties", {"object"}},
      {"required", {"object"}},
      {"additionalProperties", {"object"}},
      {"propertyOrdering", {"object"}},
      {"minProperties", {"object"}},
      {"maxProperties", {"object"}}};
  const auto found = kTypes.find(keyword);
  const auto type = schema.find("type");
  if (found == kTypes.end() || type == schema.end()) return true;
  const Json types = type->is_array() ? *type : Json::array({*type});
  return std::ranges::any_of(types, [&](const Json& each) {
    return std::ranges::find(found->second, each.get<std::string>()) != found->second.end();
  });
}

std::string stray(const Json& schema) {
  for (const auto& [name, value] : schema.items()) {
    if (!belongs(name, schema)) return name + " of another type";
  }
  return "";
}

std::string required_fault(const Json& schema, bool must_be_known) {
  const auto required = schema.find("required");
  if (required == schema.end()) return "";
  if (!required->is_array()) return "required is no list";
  std::set<std::string> seen;
  for (const Json& name : *required) {
    if (!name.is_string() || !seen.insert(name.get<std::string>()).second) return "required repeats a name";
    const bool is_known =
        schema.contains("properties") && schema["properties"].contains(name.get<std::string>());
    if (must_be_known && !is_known) return "required names an unknown property";
  }
  return "";
}

std::string object_root_fault(const Json& schema, bool needs_properties) {
  if (!schema.is_object() || type_of(schema) != "object") return "root: is not of type object";
  for (const char* word : {"anyOf", "oneOf", "allOf", "$ref", "not", "enum"}) {
    if (schema.contains(word)) return std::string("root: has ") + word;
  }
  const bool has = schema.contains("properties") && schema["properties"].is_object();
  return needs_properties && !has ? "root: has no properties" : "";
}

// References, none of which may lead outside or nowhere.
std::string reference_fault(const Json& root, const Json& schema) {
  return schema.contains("$ref") && target_of(root, schema) == nullptr ? "$ref leads nowhere" : "";
}

// Gemini's Schema object (v1beta) and the errors of its functions.
std::string gemini_tool_fault(const Json& schema) {
  static const std::set<std::string, std::less<>> kKnown{
      "type",      "format",   "title",    "description",     "nullable",      "enum",
      "items",     "maxItems", "minItems", "properties",      "required",      "minLength",
      "maxLength", "pattern",  "minimum",  "maximum",         "minProperties", "maxProperties",
      "example",   "anyOf",    "default",  "propertyOrdering"};
  for (const auto& [name, value] : schema.items()) {
    if (!kKnown.contains(name)) return "unknown " + name;
  }
  if (schema.contains("anyOf")) return schema.size() == 1 ? "" : "members beside anyOf";
  const std::string type = type_of(schema);
  if (!is_one_of(type, {"string", "number", "integer", "boolean", "array", "object"})) return "no type";
  if (type == "array" && !schema.contains("items")) return "an array without items";
  if (schema.contains("properties") && schema["properties"].empty()) return "empty properties";
  if (schema.contains("enum")) {
    const Json& values = schema["enum"];
    if (type != "string" || !values.is_array() || values.empty()) return "enum of no strings";
    for (const Json& each : values) {
      if (!each.is_string() || each == "") return "enum has a value that is empty or no string";
    }
  }
  if (schema.contains("format")) {
    const std::string format = schema["format"];
    const bool known = (type == "string" && is_one_of(format, {"date-time", "enum"})) ||
                       (type == "integer" && is_one_of(format, {"int32", "int64"})) ||
                       (type == "number" && is_one_of(format, {"float", "double"}));
    if (!known) return "format " + format + " of " + type;
  }
  if (std::string fault = stray(schema); !fault.empty()) return fault;
  return required_fault(schema, true);
}

// Which units (definitions; "" is the root without them) a schema refers to.
void add_targets(const Json& schema, bool is_root, std::set<std::string>& to) {
  if (schema.is_array()) {
    for (const Json& each : schema) add_targets(each, false, to);
  }
  if (!schema.is_object()) return;
  for (const auto& [name, value] : schema.items()) {
    if (name == "$ref" && value.is_string()) {
      const std::string text = value;
      const std::string begin = text.starts_with("#/$defs/") ? "#/$defs/" : "#/definitions/";
      to.insert(text.starts_with(begin)
                    ? text.substr(begin.size()).substr(0, text.substr(begin.size()).find('/'))
                    : "");
    } else if (!is_root || (name != "$defs" && name != "definitions")) {
      add_targets(value, false, to);
    }
  }
}

std::map<std::string, std::set<std::string>> reference_graph(const Json& root) {
  std::map<std::string, std::set<std::string>> graph;
  add_targets(root, true, graph[""]);
  for (const char* word : {"$defs", "definitions"}) {
    if (!root.contains(word)) continue;
    for (const auto& [name, schema] : root[word].items()) add_targets(schema, false, graph[name]);
  }
  return graph;
}

bool leads_to(const std::map<std::string, std::set<std::string>>& graph, const std::string& from,
              const std::string& to) {
  std::set<std::string> seen;
  std::vector<std::string> open{from};
  while (!open.empty()) {
    const std::string unit = open.back();
    open.pop_back();
    if (unit == to) return true;
    if (!seen.insert(unit).second || !graph.contains(unit)) continue;
    for (const std::string& next : graph.at(unit)) open.push_back(next);
  }
  return false;
}

bool is_recursive(const Json& root) {
  const auto graph = reference_graph(root);
  return std::ranges::any_of(graph, [&](const auto& unit) {
    return std::ranges::any_of(unit.second,
                               [&](const std::string& next) { return leads_to(graph, next, unit.first); });
  });
}

// A required property may not be within a cycle of references.
std::string required_cycle(const Json& root) {
  const auto graph = reference_graph(root);
  std::string fault;
  const std::function<void(const Json&, const std::string&, bool, bool)> visit =
      [&](const Json& schema, const std::string& unit, bool is_required, bool is_root) {
        if (schema.is_array()) {
          for (const Json& each : schema) visit(each, unit, is_required, false);
        }
        if (!schema.is_object()) return;
        for (const auto& [name, value] : schema.items()) {
          if (is_root && (name == "$defs" || name == "definitions")) continue;
          if (name == "$ref" && is_required) {
            std::set<std::string> to;
            add_targets(schema, false, to);
            if (leads_to(graph, *to.begin(), unit)) fault = "a cycle within a required property of " + unit;
          } else if (name == "properties" && value.is_object()) {
            for (const auto& [member, each] : value.items()) {
              const bool required =
                  schema.contains("required") &&
                  std::ranges::find(schema["required"], Json(member)) != schema["required"].end();
              visit(each, unit, required, false);
            }
          } else {
            visit(value, unit, is_required, false);
          }
        }
      };
  visit(root, "", false, true);
  if (root.contains("$defs")) {
    for (const auto& [name, schema] : root["$defs"].items()) visit(schema, name, false, false);
  }
  return fault;
}

std::string gemini_answer_fault(const Json& root, const Json& schema) {
  static const std::set<std::string, std::less<>> kKnown{"$id",
                                                         "$defs",
                                                         "$ref",
                                                         "$anchor",
                                                         "type",
                                                         "format",
                                                         "title",
                                                         "description",
                                                         "enum",
                                                         "items",
                                                         "prefixItems",
                                                         "minItems",
                                                         "maxItems",
                                                         "minimum",
                                                         "maximum",
                                                         "anyOf",
                                                         "oneOf",
                                                         "properties",
                                                         "additionalProperties",
                                                         "required",
                                                         "propertyOrdering"};
  for (const auto& [name, value] : schema.items()) {
    if (!kKnown.contains(name)) return "unknown " + name;
    if (schema.contains("$ref") && !name.starts_with('$')) return name + " beside $ref";
  }
  if (schema.contains("enum")) {
    for (const Json& each : schema["enum"]) {
      if (!each.is_string() && !each.is_number()) return "enum has a value that is no string or number";
    }
  }
  if (schema.contains("items") && schema["items"].is_boolean()) return "items is a boolean";
  if (std::string fault = stray(schema); !fault.empty()) return fault;
  if (std::string fault = reference_fault(root, schema); !fault.empty()) return fault;
  return required_fault(schema, true);
}

bool is_simple_pattern(const std::string& pattern) {
  for (const char* part : {"(?", "\\b", "\\B", "\\1", "\\2", "\\k"}) {
    if (pattern.find(part) != std::string::npos) return false;
  }
  return true;
}

bool has_form(const Json& schema) {
  return schema.contains("type") || schema.contains("anyOf") || schema.contains("$ref");
}

std::string anthropic_strict_fault(const Json& root, const Json& schema) {
  static const std::set<std::string, std::less<>> kKnown{
      "type",   "enum",        "const",   "anyOf",       "allOf",      "$ref",
      "$defs",  "definitions", "default", "items",       "properties", "required",
      "format", "minItems",    "title",   "description", "pattern",    "additionalProperties"};
  for (const auto& [name, value] : schema.items()) {
    if (!kKnown.contains(name)) return "unknown " + name;
  }
  if (!has_form(schema) && !schema.contains("allOf")) return "neither type, anyOf, allOf nor $ref";
  if (schema.contains("allOf")) {
    for (const Json& part : schema["allOf"]) {
      if (part.contains("$ref")) return "allOf with $ref";
    }
  }
  const Json type = schema.value("type", Json());
  const bool is_object =
      type == "object" || (type.is_array() && std::ranges::find(type, Json("object")) != type.end());
  if (is_object && schema.value("additionalProperties", Json()) != Json(false)) return "an open object";
  for (const char* word : {"enum", "const"}) {
    if (!schema.contains(word)) continue;
    const Json values = word == std::string("enum") ? schema[word] : Json::array({schema[word]});
    if (std::ranges::any_of(values, [](const Json& each) { return each.is_structured(); }))
      return std::string(word) + " of a list or an object";
  }
  if (schema.contains("minItems") && schema["minItems"] > 1) return "minItems above 1";
  if (schema.contains("format") &&
      !is_one_of(schema["format"].get<std::string>(), {"date-time", "time", "date", "duration", "email",
                                                       "hostname", "uri", "ipv4", "ipv6", "uuid"}))
    return "unknown format";
  if (schema.contains("pattern") && !is_simple_pattern(schema["pattern"])) return "a complex pattern";
  if (schema.contains("items") && schema["items"].is_boolean()) return "items is a boolean";
  if (std::string fault = stray(schema); !fault.empty()) return fault;
  if (std::string fault = reference_fault(root, schema); !fault.empty()) return fault;
  return required_fault(schema, true);
}

bool is_object_type(const Json& schema) {
  const Json type = schema.value("type", Json());
  return type == "object" || (type.is_array() && std::ranges::find(type, Json("object")) != type.end());
}

// OpenAI's Structured Outputs, without the bounds of size.
std::string openai_strict_fault(const Json& root, const Json& schema) {
  static const std::set<std::string, std::less<>> kKnown{"type",
                                                         "enum",
                                                         "const",
                                                         "anyOf",
                                                         "$ref",
                                                         "$defs",
                                                         "items",
                                                         "format",
                                                         "title",
                                                         "properties",
                                                         "pattern",
                                                         "required",
                                                         "description",
                                                         "additionalProperties",
                                                         "minItems",
                                                         "maxItems",
                                                         "multipleOf",
                                                         "minimum",
                                                         "maximum",
                                                         "exclusiveMinimum",
                                                         "exclusiveMaximum"};
  for (const auto& [name, value] : schema.items()) {
    if (!kKnown.contains(name)) return "unknown " + name;
    if (schema.contains("$ref") && !name.starts_with('$')) return name + " beside $ref";
  }
  if (!has_form(schema)) return "neither type, anyOf nor $ref";
  if (is_object_type(schema)) {
    if (schema.value("additionalProperties", Json()) != Json(false)) return "an open object";
    if (!schema.contains("required") || !schema.contains("properties")) return "no required or properties";
    if (schema["required"].size() != schema["properties"].size()) return "an optional member";
  }
  if (schema.contains("format") &&
      !is_one_of(schema["format"].get<std::string>(),
                 {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}))
    return "unknown format";
  if (schema.contains("pattern") && schema["pattern"].get<std::string>().find("(?") != std::string::npos)
    return "a pattern that looks around";
  if (std::string fault = stray(schema); !fault.empty()) return fault;
  if (std::string fault = reference_fault(root, schema); !fault.empty()) return fault;
  return required_fault(schema, true);
}

// What xAI answers with 400.
std::string xai_fault(const Json& root, const Json& schema) {
  for (const char* word : {"minContains", "maxContains"}) {
    if (schema.contains(word)) return word;
  }
  for (const char* word : {"enum", "anyOf"}) {
    if (schema.contains(word) && schema[word].empty()) return std::string("empty ") + word;
  }
  if (schema.contains("items") && !schema["items"].is_object()) return "items is no schema";
  if (schema.contains("properties")) {
    for (const Json& each : schema["properties"]) {
      if (each.is_boolean()) return "a property that is true or false";
    }
  }
  return reference_fault(root, schema);
}

// A valid schema of draft 2020-12 as far as its references and lists go.
std::string plain_fault(const Json& root, const Json& schema) {
  if (std::string fault = reference_fault(root, schema); !fault.empty()) return fault;
  if (schema.contains("enum") && !schema["enum"].is_array()) return "enum is no list";
  return required_fault(schema, false);
}

}  // namespace

std::string forbidden(SchemaPlace place, const Json& schema) {
  std::string fault;
  switch (place) {
    case SchemaPlace::kOpenaiTool:
    case SchemaPlace::kAnthropicTool:
      fault = object_root_fault(schema, place == SchemaPlace::kOpenaiTool);
      if (!fault.empty()) return fault;
      return Walk([&](const Json& one) { return plain_fault(schema, one); }).visit(schema, "");
    case SchemaPlace::kOpenaiStrict:
      fault = object_root_fault(schema, true);
      if (!fault.empty()) return fault;
      return Walk([&](const Json& one) { return openai_strict_fault(schema, one); }).visit(schema, "");
    case SchemaPlace::kXai:
      if (is_recursive(schema)) return "it is recursive";
      return Walk([&](const Json& one) { return xai_fault(schema, one); }).visit(schema, "");
    case SchemaPlace::kAnthropicStrict:
      if (is_recursive(schema)) return "it is recursive";
      return Walk([&](const Json& one) { return anthropic_strict_fault(schema, one); }).visit(schema, "");
    case SchemaPlace::kGeminiTool:
      fault = object_root_fault(schema, true);
      if (!fault.empty()) return fault;
      return Walk(gemini_tool_fault).visit(schema, "");
    case SchemaPlace::kGeminiAnswer:
      fault = Walk([&](const Json& one) { return gemini_answer_fault(schema, one); }).visit(schema, "");
      return fault.empty() ? required_cycle(schema) : fault;
  }
  return "unknown place";
}

}  // namespace millrace::support

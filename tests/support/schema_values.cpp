#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "tests/support/schema_rules.h"

// Which values a schema accepts: target_of and fits.
namespace millrace::support {

using schemas::Json;

const Json* target_of(const Json& root, const Json& schema) {
  const auto reference = schema.find("$ref");
  if (reference == schema.end() || !reference->is_string()) return nullptr;
  const std::string text = *reference;
  if (!text.starts_with('#')) return nullptr;
  const Json::json_pointer pointer(text.substr(1));
  return root.contains(pointer) ? &root[pointer] : nullptr;
}

namespace {

class Validator {
 public:
  Validator(const Json& root, bool named) : root_(root), named_(named) {}

  bool fits(const Json& schema, const Json& value, int depth) {
    if (depth > 200) return !named_;  // a reference to itself
    if (schema.is_boolean()) return schema.get<bool>();
    if (value.is_null() && schema.value("nullable", Json()) == Json(true)) return true;
    if (const Json* target = target_of(root_, schema); target != nullptr && !fits(*target, value, depth + 1))
      return false;
    return fits_type(schema, value) && fits_values(schema, value) && fits_unions(schema, value, depth) &&
           fits_content(schema, value, depth);
  }

 private:
  static bool is_of(const std::string& type, const Json& value) {
    if (type == "integer")
      return value.is_number_integer() ||
             (value.is_number() &&
              value.get<double>() == static_cast<double>(static_cast<long>(value.get<double>())));
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "array") return value.is_array();
    return type == "object" ? value.is_object() : value.is_null();
  }

  static bool fits_type(const Json& schema, const Json& value) {
    const auto type = schema.find("type");
    if (type == schema.end()) return true;
    if (type->is_string()) return is_of(*type, value);
    return std::ranges::any_of(*type, [&](const Json& each) { return is_of(each, value); });
  }

  static bool fits_values(const Json& schema, const Json& value) {
    if (schema.contains("const") && schema["const"] != value) return false;
    const auto values = schema.find("enum");
    return values == schema.end() || !values->is_array() ||
           std::ranges::find(*values, value) != values->end();
  }

  bool fits_unions(const Json& schema, const Json& value, int depth) {
    const auto is_fit = [&](const Json& part) { return fits(part, value, depth + 1); };
    if (schema.contains("allOf") && !std::ranges::all_of(schema["allOf"], is_fit)) return false;
    const auto is_named_fit = [&](const Json& part) {
      return is_fit(part) && (!named_ || !value.is_object() || names_all(part, schema, value));
    };
    if (schema.contains("anyOf") && !std::ranges::any_of(schema["anyOf"], is_named_fit)) return false;
    if (schema.contains("oneOf") && (std::ranges::count_if(schema["oneOf"], is_fit) != 1 ||
                                     !std::ranges::any_of(schema["oneOf"], is_named_fit)))
      return false;
    return !schema.contains("if") || !is_fit(schema["if"]) || is_fit(schema["then"]);
  }

  bool names_all(const Json& part, const Json& whole, const Json& value) const {
    std::set<std::string> names;
    add_names(whole, false, 0, names);
    add_names(part, true, 0, names);
    return std::ranges::all_of(value.items(), [&](const auto& each) { return names.contains(each.key()); });
  }

  void add_names(const Json& schema, bool with_unions, int depth, std::set<std::string>& to) const {
    if (!schema.is_object() || depth > 20) return;
    if (schema.contains("properties")) {
      for (const auto& [name, each] : schema["properties"].items()) to.insert(name);
    }
    if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
      to.insert("more");
    if (const Json* target = target_of(root_, schema)) add_names(*target, true, depth + 1, to);
    for (const char* word : {"allOf", "anyOf", "oneOf"}) {
      if (!schema.contains(word) || (!with_unions && word != std::string("allOf"))) continue;
      for (const Json& part : schema[word]) add_names(part, true, depth + 1, to);
    }
  }

  static bool in_bounds(const Json& schema, const char* least, const char* most, std::size_t size) {
    return (!schema.contains(least) || size >= schema[least].get<std::size_t>()) &&
           (!schema.contains(most) || size <= schema[most].get<std::size_t>());
  }

  bool fits_content(const Json& schema, const Json& value, int depth) {
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      return in_bounds(schema, "minLength", "maxLength", text.size()) &&
             (!schema.contains("pattern") ||
              std::regex_search(text, std::regex(schema["pattern"].get<std::string>())));
    }
    if (value.is_number()) {
      const double number = value.get<double>();
      return (!schema.contains("minimum") || number >= schema["minimum"].get<double>()) &&
             (!schema.contains("maximum") || number <= schema["maximum"].get<double>()) &&
             (!schema.contains("exclusiveMinimum") || number > schema["exclusiveMinimum"].get<double>()) &&
             (!schema.contains("multipleOf") || is_of("integer", value));
    }
    if (value.is_array()) return fits_items(schema, value, depth);
    return !value.is_object() || fits_members(schema, value, depth);
  }

  bool fits_items(const Json& schema, const Json& value, int depth) {
    if (!in_bounds(schema, "minItems", "maxItems", value.size())) return false;
    if (schema.value("uniqueItems", Json()) == Json(true)) {
      for (std::size_t i = 0; i < value.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
          if (value[i] == value[j]) return false;
    }
    const Json first = schema.value("prefixItems", Json::array());
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i < first.size() && !fits(schema["prefixItems"][i], value[i], depth + 1)) return false;
      if (i >= first.size() && schema.contains("items") && !fits(schema["items"], value[i], depth + 1))
        return false;
    }
    return true;
  }

  bool fits_members(const Json& schema, const Json& value, int depth) {
    if (!in_bounds(schema, "minProperties", "maxProperties", value.size())) return false;
    if (schema.contains("required")) {
      for (const Json& name : schema["required"])
        if (!value.contains(name.get<std::string>())) return false;
    }
    for (const auto& [name, member] : value.items()) {
      bool is_known = false;
      if (schema.contains("properties") && schema["properties"].contains(name)) {
        is_known = true;
        if (!fits(schema["properties"][name], member, depth + 1)) return false;
      }
      if (schema.contains("patternProperties") && name.starts_with("x-")) is_known = true;
      if (!is_known && schema.contains("additionalProperties") &&
          !fits(schema["additionalProperties"], member, depth + 1))
        return false;
    }
    return true;
  }

  const Json& root_;
  const bool named_;
};

}  // namespace

bool fits(const Json& root, const Json& value, bool named) {
  return Validator(root, named).fits(root, value, 0);
}

}  // namespace millrace::support

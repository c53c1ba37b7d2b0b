#include "ai/inference/schema/schema_form.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace millrace::inference {
namespace {

using schemas::Json;

// Calls `visit` for `schema` and then for each subschema; `place` is the place of the visited one. The
// recursion depth is that of the request's JSON, which is bounded.
template <class Visit>
void each_schema(const Json& schema, std::string& place, const Visit& visit) {
  visit(schema);
  if (!schema.is_object()) return;
  for (const SchemaKeyword& keyword : kSchemaKeywords) {
    const auto at = schema.find(keyword.name);
    if (at == schema.end()) continue;
    const PlaceStep inside(place, keyword.name);
    switch (keyword.value) {
      case SchemaValue::kSchema:
        each_schema(*at, place, visit);
        break;
      case SchemaValue::kSchemas:
      case SchemaValue::kSchemaMap:
        for (const auto& [name, each] : at->items()) {
          const PlaceStep further(place, name);
          each_schema(each, place, visit);
        }
        break;
      case SchemaValue::kCount:
      case SchemaValue::kNumber:
      case SchemaValue::kNames:
      case SchemaValue::kTypes:
      case SchemaValue::kBool:
      case SchemaValue::kAny:
        break;
    }
  }
}

// Unescapes one token of a JSON pointer; nullopt: a `~` is not followed by 0 or 1.
std::optional<std::string> unescaped(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      out += token[i];
      continue;
    }
    const std::string_view two = token.substr(i++, 2);
    if (two != "~0" && two != "~1") return std::nullopt;
    out += two == "~0" ? '~' : '/';
  }
  return out;
}

const Json* item_at(const Json& list, std::string_view token) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool is_index = error == std::errc() && end == token.data() + token.size();
  if (!is_index || index >= list.size() || std::to_string(index) != token) return nullptr;
  return &list[index];
}

const Json* step_into(const Json& tree, std::string_view token) {
  if (tree.is_array()) return item_at(tree, token);
  const auto name = unescaped(token);
  if (!tree.is_object() || !name) return nullptr;
  const auto at = tree.find(*name);
  return at == tree.end() ? nullptr : &*at;
}

// Null: the pointer does not resolve.
const Json* pointed_at(const Json& whole, std::string_view pointer) {
  const Json* at = &whole;
  while (at != nullptr && !pointer.empty()) {
    if (pointer.front() != '/') return nullptr;
    pointer.remove_prefix(1);
    const std::size_t length = std::min(pointer.find('/'), pointer.size());
    at = step_into(*at, pointer.substr(0, length));
    pointer.remove_prefix(length);
  }
  return at;
}

// Resolves the $refs of one schema.
class LinkReader {
 public:
  explicit LinkReader(const Json& whole) : whole_(whole) {}

  base::Result<SchemaLinks> read() {
    each_schema(whole_, place_, [this](const Json& schema) { places_.insert(&schema); });
    each_schema(whole_, place_, [this](const Json& schema) { link(schema); });
    if (failed_) return *std::move(failed_);
    each_schema(whole_, place_, [this](const Json& schema) {
      if (!failed_ && !ends(schema)) fail("refers to itself without a property or an item in between");
    });
    if (failed_) return *std::move(failed_);
    return std::move(links_);
  }

 private:
  void fail(const std::string& what) {
    if (!failed_) failed_ = schema_error(place_, what);
  }

  void link(const Json& schema) {
    if (!schema.is_object()) return;
    const auto reference = schema.find("$ref");
    if (reference == schema.end()) return;
    const PlaceStep inside(place_, "$ref");
    const Json* target =
        pointed_at(whole_, std::string_view(reference->get_ref<const std::string&>()).substr(1));
    if (!places_.contains(target)) return fail("does not refer to a subschema of this schema");
    links_.emplace(&*reference, target);
  }

  // True if no chain of schemas for the same value leads back to `schema`.
  bool ends(const Json& schema) {
    if (!schema.is_object() || ended_.contains(&schema)) return true;
    if (!way_.insert(&schema).second) return false;
    bool good = true;
    if (const auto at = schema.find("$ref"); at != schema.end()) good = ends(*links_.at(&*at));
    for (const char* keyword : {"anyOf", "oneOf", "allOf"}) {
      const auto at = schema.find(keyword);
      if (at == schema.end()) continue;
      for (const Json& each : *at) good = good && ends(each);
    }
    if (const auto at = schema.find("not"); at != schema.end()) good = good && ends(*at);
    way_.erase(&schema);
    ended_.insert(&schema);
    return good;
  }

  const Json& whole_;
  std::string place_;  // the current place of `each_schema`
  std::unordered_set<const Json*> places_, way_, ended_;
  SchemaLinks links_;
  std::optional<base::Error> failed_;
};

}  // namespace

base::Result<SchemaLinks> schema_links(const Json& whole) { return LinkReader(whole).read(); }

namespace {

using schemas::Json;

constexpr std::array<std::string_view, 7> kSchemaTypes{"object",  "array",   "string", "number",
                                                       "integer", "boolean", "null"};

bool is_names(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& each) { return each.is_string(); });
}

bool is_type(const Json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text != nullptr && std::find(kSchemaTypes.begin(), kSchemaTypes.end(), *text) != kSchemaTypes.end();
}

bool is_types(const Json& value) {
  if (!value.is_array()) return is_type(value);
  return !value.empty() && std::all_of(value.begin(), value.end(), is_type);
}

bool is_count(const Json& value) { return value.is_number_integer() && value >= 0; }

// Reads a schema and its subschemas.
class FormReader {
 public:
  base::Result<Json> read(const Json& schema) {
    Json out = one(schema);
    if (failed_) return *std::move(failed_);
    return out;
  }

 private:
  void fail(const std::string& what) {
    if (!failed_) failed_ = schema_error(place_, what);
  }

  // The recursion depth is that of the request's JSON, which is bounded.
  Json one(const Json& schema) {
    if (++count_ > kSchemaPlacesMax)
      fail("is one schema too many: the limit is " + std::to_string(kSchemaPlacesMax));
    if (failed_ || schema.is_boolean()) return schema;
    if (!schema.is_object()) {
      fail("is not a schema: it should be an object or a boolean");
      return schema;
    }
    Json out = Json::object();
    for (const SchemaKeyword& each : kSchemaKeywords) {
      const auto at = schema.find(each.name);
      if (at == schema.end() || failed_) continue;
      if (each.name == "additionalProperties" && schema.contains("patternProperties")) continue;
      if (each.name == "items" && schema.contains("prefixItems")) continue;  // those after the first
      const PlaceStep inside(place_, each.name);
      out[std::string(each.name)] = value(each, *at);
    }
    const auto reference = schema.find("$ref");
    return reference == schema.end() ? out : referred(*reference, std::move(out));
  }

  // Keywords beside a $ref also apply, but SchemaCheck expects a $ref alone. So the $ref moves into allOf.
  Json referred(const Json& reference, Json others) {
    const auto* text = reference.get_ptr<const std::string*>();
    const PlaceStep inside(place_, "$ref");
    if (text == nullptr || !text->starts_with('#') || text->find('%') != std::string::npos) {
      fail("should be a JSON pointer into this schema, such as \"#/$defs/name\"");
      return others;
    }
    Json alone = {{"$ref", *text}};
    if (others.empty()) return alone;
    if (!others.contains("allOf")) others["allOf"] = Json::array();
    others["allOf"].push_back(std::move(alone));
    return others;
  }

  Json value(const SchemaKeyword& keyword, const Json& given) {
    switch (keyword.value) {
      case SchemaValue::kSchema:
        return one(given);
      case SchemaValue::kSchemas:
        return list(given);
      case SchemaValue::kSchemaMap:
        return map(given);
      case SchemaValue::kCount:
        if (!is_count(given)) fail("should be an integer of at least 0");
        break;
      case SchemaValue::kNumber:
        if (!given.is_number()) fail("should be a number");
        if (keyword.name == "multipleOf" && !(given > 0)) fail("should be above 0");
        break;
      case SchemaValue::kNames:
        if (!is_names(given)) fail("should be a list of strings");
        break;
      case SchemaValue::kTypes:
        if (!is_types(given)) fail("should be a JSON type or a list of JSON types");
        break;
      case SchemaValue::kBool:
        if (!given.is_boolean()) fail("should be a boolean");
        break;
      case SchemaValue::kAny:
        if (keyword.name == "enum" && !given.is_array()) fail("should be a list");
        break;
    }
    return given;
  }

  Json list(const Json& given) {
    Json out = Json::array();
    if (!given.is_array() || given.empty()) fail("should be a list of schemas");
    if (failed_) return out;
    for (std::size_t i = 0; i < given.size(); ++i) {
      const PlaceStep inside(place_, std::to_string(i));
      out.push_back(one(given[i]));
    }
    return out;
  }

  Json map(const Json& given) {
    Json out = Json::object();
    if (!given.is_object()) fail("should be an object of schemas");
    if (failed_) return out;
    for (const auto& [name, schema] : given.items()) {
      const PlaceStep inside(place_, name);
      out[name] = one(schema);
    }
    return out;
  }

  std::string place_;  // a JSON pointer
  std::size_t count_ = 0;
  std::optional<base::Error> failed_;
};

}  // namespace

base::Error schema_error(const std::string& place, const std::string& what) {
  constexpr std::size_t kShownMax = 256;
  std::string message(kSchemaField);
  message.append(": ")
      .append(place.empty() ? std::string_view("the schema") : schemas::cut_text(place, kShownMax))
      .append(" ");
  return base::error(base::Code::kInvalidField, message.append(what), kSchemaField);
}

base::Result<SchemaForm::Ptr> schema_form(const Json& schema) {
  base::Result<Json> whole = FormReader().read(schema);
  if (!whole) return whole.error();
  auto form = std::make_unique<SchemaForm>();
  form->whole = *std::move(whole);
  base::Result<SchemaLinks> links = schema_links(form->whole);
  if (!links) return links.error();
  form->links = *std::move(links);
  return SchemaForm::Ptr(std::move(form));
}

}  // namespace millrace::inference

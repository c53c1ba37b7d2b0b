#include "ai/providers/openai/schema.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <string>

#include "ai/providers/json_schema.h"
#include "ai/providers/schema_references.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"

namespace millrace::providers {
namespace {

constexpr std::array<std::string_view, 21> kStrictKeywords = {"type",
                                                              "enum",
                                                              "const",
                                                              "anyOf",
                                                              "$ref",
                                                              "$defs",
                                                              "properties",
                                                              "required",
                                                              "items",
                                                              "title",
                                                              "description",
                                                              "pattern",
                                                              "format",
                                                              "additionalProperties",
                                                              "multipleOf",
                                                              "minimum",
                                                              "maximum",
                                                              "exclusiveMinimum",
                                                              "exclusiveMaximum",
                                                              "minItems",
                                                              "maxItems"};
constexpr std::array<std::string_view, 9> kStrictFormats = {"date-time", "time", "date", "duration", "email",
                                                            "hostname",  "ipv4", "ipv6", "uuid"};

bool looks_around(std::string_view pattern) {
  constexpr std::array<std::string_view, 4> kGroups{"(?=", "(?!", "(?<=", "(?<!"};
  return std::ranges::any_of(kGroups, [&](auto group) { return pattern.find(group) != pattern.npos; });
}

bool takes_openai_strict(std::string_view keyword, const Json& value) {
  if (keyword == "pattern") return !looks_around(text_of(&value));
  return keyword != "format" || std::ranges::find(kStrictFormats, text_of(&value)) != kStrictFormats.end();
}

constexpr SchemaSubset kOpenaiStrict{.keywords = kStrictKeywords,
                                     .takes = takes_openai_strict,
                                     .lists = [](const Json& value) { return !value.is_structured(); },
                                     .is_closed = true,
                                     .requires_all = true};

std::size_t text_size(const Json& value) {
  return value.is_string() ? schemas::characters(text_of(&value)) : schemas::dump(value).size();
}

// Counts what the bounds of a strict schema are about.
class StrictSize {
 public:
  explicit StrictSize(const Json& root) { visit(root, 0); }
  bool fits() const {
    return fits_ && properties_ <= kStrictPropertiesMax && text_ <= kStrictTextMax &&
           values_ <= kStrictValuesMax;
  }

 private:
  void visit(const Json& schema, std::size_t depth) {
    if (!schema.is_object()) return;
    const Json* properties = member(schema, "properties");
    if (properties != nullptr) {
      fits_ = fits_ && ++depth <= kStrictNestedMax;
      properties_ += properties->size();
      add_names(*properties);
    }
    for (const char* keyword : {"$defs", "definitions"}) {
      if (const Json* named = member(schema, keyword)) add_names(*named);
    }
    if (const Json* only = member(schema, "const")) text_ += text_size(*only);
    if (const Json* listed = member(schema, "enum")) count(*listed);
    for (const auto& [name, value] : schema.items()) {
      const SchemaKeyword* keyword = schema_keyword(name);
      if (keyword == nullptr) continue;
      const bool is_definition = name == "$defs" || name == "definitions";
      if (keyword->form == SchemaForm::kSchema) visit(value, depth);
      if (keyword->form != SchemaForm::kSchemas && keyword->form != SchemaForm::kNamedSchemas) continue;
      for (const Json& part : value) visit(part, is_definition ? 0 : depth);
    }
  }

  void add_names(const Json& named) {
    for (const auto& [name, part] : named.items()) text_ += schemas::characters(name);
  }

  void count(const Json& listed) {
    std::size_t text = 0;
    for (const Json& each : listed) text += text_size(each);
    values_ += listed.size();
    text_ += text;
    if (listed.size() > kStrictLongEnum && text > kStrictLongEnumTextMax) fits_ = false;
  }

  std::size_t properties_ = 0, text_ = 0, values_ = 0;
  bool fits_ = true;
};

}  // namespace

std::optional<SubsetSchema> openai_strict_schema(const Json& schema) {
  std::optional<SubsetSchema> made = schema_within(kOpenaiStrict, schema);
  if (!made || text_of(made->schema, "type") != "object" || !StrictSize(made->schema).fits())
    return std::nullopt;
  return made;
}

namespace {

// Finds the references that lead back to a schema which they are in.
class CycleFinder {
 public:
  explicit CycleFinder(const Json& root) : root_(root) { visit(root, 0); }
  const std::set<const Json*>& found() const { return found_; }

 private:
  static constexpr int kDepthMax = 500;  // what is nested more deeply counts as a cycle

  void visit(const Json& schema, int depth) {
    if (!schema.is_object() || done_.contains(&schema)) return;
    open_.insert(&schema);
    if (const Json* reference = member(schema, "$ref")) {
      const Json* target = referenced(root_, text_of(reference));
      const bool is_cycle = target != nullptr && (open_.contains(target) || depth >= kDepthMax);
      if (is_cycle) found_.insert(&schema);
      if (target != nullptr && !is_cycle) visit(*target, depth + 1);
    }
    for (const auto& [name, value] : schema.items()) {
      const SchemaKeyword* keyword = schema_keyword(name);
      if (keyword == nullptr) continue;
      if (keyword->form == SchemaForm::kSchema) visit(value, depth + 1);
      if (keyword->form != SchemaForm::kSchemas && keyword->form != SchemaForm::kNamedSchemas) continue;
      for (const Json& part : value) visit(part, depth + 1);
    }
    open_.erase(&schema);
    done_.insert(&schema);
  }

  const Json& root_;
  std::set<const Json*> open_, done_, found_;
};

// Such as OpenAPI's `components`: no reference leads there any more.
void drop_unknown(Json& schema) {
  for (auto each = schema.begin(); each != schema.end();) {
    const bool is_unknown = schema_keyword(each.key()) == nullptr && each->is_structured();
    each = is_unknown ? schema.erase(each) : std::next(each);
  }
}

// True if something is demanded less.
bool fit_schema_for_xai(Json& schema) {
  bool is_loosened = false;
  drop_unknown(schema);
  if (const auto least = schema.find("minContains"); least != schema.end() && *least == 0)
    schema.erase("contains");  // which demands one item alone
  for (const char* keyword : {"minContains", "maxContains"})
    is_loosened = schema.erase(keyword) > 0 || is_loosened;
  if (const auto items = schema.find("items"); items != schema.end() && items->is_boolean()) {
    is_loosened = is_loosened || *items == false;
    schema.erase(items);
  }
  if (const auto properties = schema.find("properties"); properties != schema.end()) {
    for (auto each = properties->begin(); each != properties->end();) {
      if (*each == true) *each = Json::object();
      is_loosened = is_loosened || *each == false;
      each = *each == false ? properties->erase(each) : std::next(each);
    }
  }
  constexpr std::array<std::string_view, 6> kForms{
      "properties", "additionalProperties", "patternProperties", "anyOf", "oneOf", "allOf"};
  const bool is_free = schema.contains("type") && allows_type(schema, "object") &&
                       std::ranges::none_of(kForms, [&](auto form) { return schema.contains(form); });
  if (is_free) schema["additionalProperties"] = true;
  return is_loosened;
}

}  // namespace

SubsetSchema xai_schema(const Json& given) {
  SubsetSchema made{.schema = valid_schema(given)};
  Json& root = made.schema;
  made.is_loosened = !define_targets(root, true);
  made.is_loosened = drop_lost_references(root) || made.is_loosened;
  each_schema(root, [&](Json& each) { made.is_loosened = fit_schema_for_xai(each) || made.is_loosened; });
  const std::set<const Json*> cycles = CycleFinder(root).found();
  made.is_loosened = made.is_loosened || !cycles.empty();
  if (cycles.empty()) return made;
  each_schema(root, [&](Json& each) {
    if (cycles.contains(&each)) each.erase("$ref");
  });
  return made;
}

namespace {

// Without `strict` if there is no such schema. The gateway then checks what comes.
bool fit_strict(Json& schema, Json& strict) {
  std::optional<SubsetSchema> made = openai_strict_schema(schema);
  if (!made) {
    strict = false;
    return true;
  }
  schema = std::move(made->schema);
  return made->is_loosened;
}

bool fit_root_for_xai(Json& schema) {
  SubsetSchema made = xai_schema(schema);
  schema = std::move(made.schema);
  return made.is_loosened;
}

}  // namespace

bool has_schema_rules(Dialect dialect) {
  return dialect == Dialect::kOpenai || dialect == Dialect::kXai || dialect == Dialect::kGroq;
}

SchemaFit fit_tool_schema(Dialect dialect, Json& function) {
  const bool is_strict = is_true(member(function, "strict"));
  const bool has_strict = dialect == Dialect::kOpenai || dialect == Dialect::kGroq;
  const auto parameters = function.find("parameters");
  SchemaFit fit;
  if (has_strict && is_strict) {
    Json schema = strict_object_schema(member(function, "parameters"), fit.is_loosened);
    fit.is_loosened = fit_strict(schema, function["strict"]) || fit.is_loosened;
    fit.is_clamped = fit.is_loosened || (parameters != function.end() && has_union_root(*parameters));
    function["parameters"] = std::move(schema);
  } else if (parameters == function.end()) {
    return fit;
  } else if (dialect == Dialect::kXai) {
    fit.is_loosened = fit_root_for_xai(*parameters);
    fit.is_clamped = fit.is_loosened;
  } else if (dialect == Dialect::kOpenai) {
    fit.is_clamped = has_union_root(*parameters);
    *parameters = object_schema(*parameters);
  }
  return fit;
}

bool fit_answer_schema(Dialect dialect, Json& format) {
  const auto schema = format.find("schema");
  if (schema == format.end() || !schema->is_object()) return false;
  if (dialect == Dialect::kXai) return fit_root_for_xai(*schema);
  return has_schema_rules(dialect) && is_true(member(format, "strict")) &&
         fit_strict(*schema, format["strict"]);
}

}  // namespace millrace::providers

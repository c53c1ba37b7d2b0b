#include "ai/providers/schema_subset.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ai/providers/json_schema.h"
#include "ai/providers/schema_merge.h"
#include "ai/providers/schema_references.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_tree.h"

namespace millrace::providers {
namespace {

constexpr std::string_view kDefinitions = "definitions";  // before draft 2019-09
constexpr std::string_view kDefs = "$defs";
constexpr int kNestedMax = 100;                       // of schemas in each other
constexpr std::size_t kSeparatedBytesMax = 1u << 20;  // that the alternatives of unions get from the whole
constexpr std::size_t kDefinitionsMax = 200;  // in one schema; with more, all references count as cycles

class SubsetWriter {
 public:
  SubsetWriter(const SchemaSubset& subset, const Json& root) : subset_(subset), root_(root), tree_(root) {}

  Json write_root() {
    Json store;
    const Json* parts = &root_;
    if (root_.contains("$ref")) parts = &tree_.flat(root_, store);
    Json made = write(*parts, true);
    if (drop_lost_references(made)) is_loosened_ = is_open_ = true;
    return made;
  }

  bool is_loosened() const { return is_loosened_ || tree_.has_lost(); }
  bool is_open() const { return subset_.is_closed && is_open_; }

 private:
  bool takes(std::string_view keyword, const Json& value) const {
    const bool is_known = std::ranges::find(subset_.keywords, keyword) != subset_.keywords.end();
    return is_known && (subset_.takes == nullptr || subset_.takes(keyword, value));
  }

  // Merged references may lead into each other without end: what is nested too deeply demands nothing.
  Json write(const Json& given, bool is_root = false) {
    if (!given.is_object() || depth_ == kNestedMax) {
      is_loosened_ = is_loosened_ || given.is_object();
      is_open_ = true;
      return Json::object();
    }
    ++depth_;
    Json made = write_object(given, is_root);
    --depth_;
    return made;
  }

  Json write_object(const Json& given, bool is_root) {
    if (!is_root && tree_.target(given) != nullptr) return reference(given);
    if (!is_root && given.contains("$ref")) is_loosened_ = true;  // to another document
    Json store;
    Json schema = tree_.flat(given, store);
    prepare(schema);
    Json made = Json::object();
    std::vector<std::string> demands;
    for (const auto& [name, value] : schema.items()) {
      const SchemaKeyword* keyword = schema_keyword(name);
      if (keyword != nullptr && !applies(*keyword, schema)) continue;
      const bool is_unused = !is_root && (name == kDefs || name == kDefinitions);
      if (is_unused) continue;
      if (takes(name, value)) {
        take(name, value, made);
      } else {
        leave_out(name, value, demands);
      }
    }
    describe(demands, made);
    if (subset_.is_closed) close(schema, made);
    filter_required(made);
    return with_null(std::move(made));
  }

  // Nothing may be beside a reference.
  Json reference(const Json& given) {
    for (const auto& [name, value] : given.items()) {
      const SchemaKeyword* keyword = schema_keyword(name);
      if (name != "$ref" && keyword != nullptr && !keyword->is_note) is_loosened_ = true;
    }
    return {{"$ref", given["$ref"]}};
  }

  // Rewrites keywords that have another form in the subset.
  void prepare(Json& schema) {
    if (schema.contains("oneOf")) {
      Json parts = std::move(schema["oneOf"]);
      schema.erase("oneOf");
      is_loosened_ = is_loosened_ || schema.contains("anyOf");
      schema.emplace("anyOf", std::move(parts));
    }
    if (schema.contains("anyOf")) separate_alternatives(schema);
    if (schema.contains("const") && !takes("const", schema["const"]) && !schema.contains("enum")) {
      schema["enum"] = Json::array({std::move(schema["const"])});
      schema.erase("const");
    }
    if (schema.contains("prefixItems") && !takes("prefixItems", Json())) list_tuple(schema);
    const auto items = schema.find("items");
    if (items != schema.end() && *items == false) {
      schema.erase(items);
      is_loosened_ = true;
    }
    const auto more = schema.find("uniqueItems");
    if (more != schema.end() && *more == false) schema.erase(more);
  }

  // Each alternative gets the demands of the whole: those of an object name all its members, and may have no
  // type of their own.
  void separate_alternatives(Json& schema) {
    Json notes = Json::object(), base = Json::object();
    for (const auto& [name, value] : schema.items()) {
      const SchemaKeyword* keyword = schema_keyword(name);
      const bool is_note = keyword == nullptr || keyword->is_note;
      if (name != "anyOf") (is_note ? notes : base)[name] = value;
    }
    if (base.empty()) return;
    separated_bytes_ += (schemas::tree_bytes(base) + kSchemaBytes) * schema["anyOf"].size();
    if (separated_bytes_ > kSeparatedBytesMax) {
      is_loosened_ = true;
      schema.erase("anyOf");
      return;
    }
    Json parts = Json::array();
    for (const Json& each : schema["anyOf"]) {
      if (each == false) continue;
      Json store;
      Json part = tree_.flat(each, store);
      if (!part.is_object()) part = Json::object();
      is_loosened_ = restrict_schema(part, base) || is_loosened_;
      parts.push_back(std::move(part));
    }
    schema = std::move(notes);
    schema["anyOf"] = std::move(parts);
  }

  // A tuple becomes a list of what its items may be.
  void list_tuple(Json& schema) {
    Json parts = std::move(schema["prefixItems"]);
    schema.erase("prefixItems");
    is_loosened_ = true;
    const auto rest = schema.find("items");
    const auto most = integer_of(schema, "maxItems").value_or(INT64_MAX);
    const bool has_end = rest != schema.end() || most <= static_cast<std::int64_t>(parts.size());
    if (!has_end) return;
    if (rest != schema.end() && rest->is_object()) parts.push_back(std::move(*rest));
    schema["items"] = {{"anyOf", std::move(parts)}};
  }

  void take(const std::string& name, const Json& value, Json& made) {
    const SchemaKeyword* keyword = schema_keyword(name);
    const SchemaForm form = keyword == nullptr ? SchemaForm::kAny : keyword->form;
    if (form == SchemaForm::kSchema) {
      made[name] = value.is_boolean() && name == "additionalProperties" ? value : write(value);
    } else if (form == SchemaForm::kSchemas) {
      Json parts = Json::array();
      for (const Json& each : value) {
        if (each != false) parts.push_back(write(each));
      }
      if (!parts.empty()) made[name] = std::move(parts);
    } else if (form == SchemaForm::kNamedSchemas) {
      made[name] = Json::object();
      for (const auto& [each, part] : value.items()) {
        if (part != false) made[name][each] = write(part);
      }
    } else if (name == "enum" || name == "const") {
      take_values(name, value, made);
    } else {
      made[name] = value;
    }
  }

  void take_values(const std::string& name, const Json& value, Json& made) {
    Json listed = name == "enum" ? value : Json::array({value});
    const auto is_listed = [&](const Json& each) { return subset_.lists(each); };
    if (std::ranges::all_of(listed, is_listed)) {
      made[name] = value;
      return;
    }
    const std::size_t count = listed.size();
    std::erase_if(listed.get_ref<Json::array_t&>(), [](const Json& each) { return each.is_null(); });
    const bool is_only_null = listed.size() < count && std::ranges::all_of(listed, is_listed);
    if (is_only_null && listed.empty()) {
      made["type"] = "null";
    } else if (is_only_null) {
      made["enum"] = std::move(listed);
      made["nullable"] = true;  // until with_null
    } else {
      is_loosened_ = true;
    }
  }

  // A schema whose values may also be null, which its enum cannot list.
  static Json with_null(Json made) {
    if (!made.contains("nullable") || made["nullable"] != true) return made;
    made.erase("nullable");
    if (const Json* types = member(made, "type"); types != nullptr && types->is_array())
      std::erase(made["type"].get_ref<Json::array_t&>(), Json("null"));
    if (made.contains("anyOf")) return made;
    Json both = Json::object();
    for (const std::string_view name : {kDefs, kDefinitions}) {
      const auto found = made.find(name);
      if (found == made.end()) continue;
      both[std::string(name)] = std::move(*found);
      made.erase(found);
    }
    both["anyOf"] = Json::array({std::move(made), {{"type", "null"}}});
    return both;
  }

  void leave_out(const std::string& name, const Json& value, std::vector<std::string>& demands) {
    const SchemaKeyword* keyword = schema_keyword(name);
    if (keyword == nullptr || keyword->is_note) return;
    is_loosened_ = true;
    if (keyword->demand.empty()) return;
    std::string demand(keyword->demand);
    if (const std::size_t at = demand.find('%'); at != std::string::npos)
      demand.replace(at, 1, value.is_string() ? value.get<std::string>() : schemas::dump(value));
    demands.push_back(std::move(demand));
  }

  static void describe(const std::vector<std::string>& demands, Json& made) {
    if (demands.empty()) return;
    std::string text(text_of(made, "description"));
    if (!text.empty()) text.append(text.ends_with('.') ? " " : ". ");
    text.append("Must be ");
    for (std::size_t i = 0; i < demands.size(); ++i) text.append(i == 0 ? "" : ", ").append(demands[i]);
    made["description"] = text.append(".");
  }

  void close(const Json& schema, Json& made) {
    if (!made.contains("type") && made.contains("properties")) made["type"] = "object";
    if (!made.contains("type") && made.contains("items")) made["type"] = "array";
    if (!made.contains("type")) take_type_of_values(made);
    if (!made.contains("type") && !made.contains("anyOf")) is_open_ = true;
    if (!made.contains("type") || !allows_type(made, "object")) return;
    const auto more = schema.find("additionalProperties");
    const bool is_any = more == schema.end() || accepts_all(*more);
    const bool is_named = made.contains("properties") && !made["properties"].empty();
    const bool is_closed = more != schema.end() && *more == false;
    if (!is_closed && !(is_any && is_named)) is_open_ = true;
    if (schema.contains("patternProperties")) is_open_ = true;
    made["additionalProperties"] = false;
    if (subset_.requires_all) require_all(made);
  }

  static void take_type_of_values(Json& made) {
    Json types = Json::array();
    const auto add = [&](const Json& value) {
      const bool is_integer = value.is_number_integer() || schemas::spelling_of(value);
      const std::string_view type = is_integer ? "integer" : type_name_of(value);
      if (std::ranges::find(types, Json(type)) == types.end()) types.push_back(type);
    };
    if (const auto only = made.find("const"); only != made.end()) add(*only);
    if (const auto listed = made.find("enum"); listed != made.end()) std::ranges::for_each(*listed, add);
    const bool has_numbers = std::ranges::find(types, Json("number")) != types.end();
    if (has_numbers) std::erase(types.get_ref<Json::array_t&>(), Json("integer"));
    if (!types.empty()) made["type"] = types.size() == 1 ? Json(types[0]) : std::move(types);
  }

  void require_all(Json& made) {
    if (!made.contains("properties")) made["properties"] = Json::object();
    if (!made.contains("required")) made["required"] = Json::array();
    std::set<std::string_view> required;
    for (const Json& each : made["required"]) required.insert(text_of(&each));
    const auto is_required = [&](const auto& each) { return required.contains(each.key()); };
    if (!std::ranges::all_of(made["properties"].items(), is_required)) is_open_ = true;
  }

  void filter_required(Json& made) const {
    const auto required = made.find("required");
    if (required == made.end()) return;
    const Json* properties = member(made, "properties");
    std::erase_if(required->get_ref<Json::array_t&>(), [&](const Json& name) {
      return properties == nullptr || !properties->contains(text_of(&name));
    });
    if (required->empty() && !subset_.requires_all) made.erase(required);
  }

  const SchemaSubset& subset_;
  const Json& root_;
  SchemaTree tree_;
  static constexpr std::size_t kSchemaBytes = 256;  // of an alternative, besides its demands
  std::size_t separated_bytes_ = 0;
  int depth_ = 0;
  bool is_loosened_ = false, is_open_ = false;
};

// Which definitions refer to which. The root without its definitions is the definition "".
class References {
 public:
  explicit References(Json& root) {
    each_definition(root, [this](const std::string& name, Json& schema) {
      std::set<std::string>& to = targets_[name];
      visit(schema, [&](Json& each) {
        if (each.contains("$ref")) to.insert(definition_of(text_of(each, "$ref")));
      });
    });
    if (targets_.size() > kDefinitionsMax) return;
    for (const auto& [name, to] : targets_) reach(to, reached_[name]);
  }

  // Removes the definitions that the root does not lead to.
  void drop_unused(Json& root) const {
    for (const std::string_view keyword : {kDefs, kDefinitions}) {
      const auto named = root.find(keyword);
      if (named == root.end() || !named->is_object()) continue;
      for (auto each = named->begin(); each != named->end();)
        each = leads("", each.key()) ? std::next(each) : named->erase(each);
    }
  }

  bool has_cycle() const {
    return std::ranges::any_of(targets_, [this](const auto& each) {
      return std::ranges::any_of(each.second, [&](const std::string& to) { return leads(to, each.first); });
    });
  }

  // Removes from `required` the properties with a reference that leads back to its own definition.
  void loosen_cycles(Json& root, bool& is_loosened) const {
    each_definition(root, [&](const std::string& name, Json& schema) { loosen(schema, name, is_loosened); });
  }

 private:
  template <class Visit>
  static void each_definition(Json& root, Visit&& visit) {
    visit(std::string(), root);
    for (const std::string_view keyword : {kDefs, kDefinitions}) {
      const auto named = root.find(keyword);
      if (named == root.end() || !named->is_object()) continue;
      for (auto& [name, schema] : named->items()) visit(name, schema);
    }
  }

  static std::string definition_of(std::string_view reference) {
    for (const std::string_view begin : {"#/$defs/", "#/definitions/"}) {
      if (!reference.starts_with(begin)) continue;
      reference.remove_prefix(begin.size());
      return std::string(reference.substr(0, reference.find('/')));
    }
    return {};
  }

  template <class Visit>
  static void visit(Json& schema, const Visit& each) {
    if (!schema.is_object()) return;
    each(schema);
    visit_parts(schema, true, [&](const std::string&, Json& part) { visit(part, each); });
  }

  // The subschemas of a schema, but not its definitions.
  template <class Visit>
  static void visit_parts(Json& schema, bool with_properties, const Visit& each) {
    for (auto& [name, value] : schema.items()) {
      const SchemaKeyword* keyword = schema_keyword(name);
      if (keyword == nullptr || name == kDefs || name == kDefinitions) continue;
      if (!with_properties && name == "properties") continue;
      if (keyword->form == SchemaForm::kSchema) each(name, value);
      if (keyword->form != SchemaForm::kSchemas && keyword->form != SchemaForm::kNamedSchemas) continue;
      for (Json& part : value) each(name, part);
    }
  }

  // True if there is such a reference outside of optional properties.
  bool loosen(Json& schema, const std::string& definition, bool& is_loosened) const {
    if (!schema.is_object()) return false;
    bool is_bare = schema.contains("$ref") && leads(definition_of(text_of(schema, "$ref")), definition);
    visit_parts(schema, false, [&](const std::string&, Json& part) {
      is_bare = loosen(part, definition, is_loosened) || is_bare;
    });
    const auto properties = schema.find("properties");
    if (properties == schema.end()) return is_bare;
    std::set<std::string> cyclic;
    for (auto& [name, part] : properties->items()) {
      if (loosen(part, definition, is_loosened)) cyclic.insert(name);
    }
    const auto required = schema.find("required");
    if (cyclic.empty() || required == schema.end()) return is_bare;
    const auto is_cyclic = [&](const Json& name) { return cyclic.contains(std::string(text_of(&name))); };
    is_loosened = std::erase_if(required->get_ref<Json::array_t&>(), is_cyclic) > 0 || is_loosened;
    return is_bare;
  }

  // Adds the definitions that `from` lead to, and those themselves.
  void reach(const std::set<std::string>& from, std::set<std::string>& to) const {
    std::vector<std::string> open(from.begin(), from.end());
    while (!open.empty()) {
      const std::string at = std::move(open.back());
      open.pop_back();
      const auto found = targets_.find(at);
      if (found == targets_.end() || !to.insert(at).second) continue;
      open.insert(open.end(), found->second.begin(), found->second.end());
    }
  }

  bool leads(const std::string& from, const std::string& to) const {
    if (from == to || targets_.size() > kDefinitionsMax) return true;
    const auto found = reached_.find(from);
    return found != reached_.end() && found->second.contains(to);
  }

  std::map<std::string, std::set<std::string>> targets_, reached_;  // by definition
};

}  // namespace

std::optional<SubsetSchema> schema_within(const SchemaSubset& subset, const Json& schema) {
  Json valid = valid_schema(schema);
  const bool keeps_definitions = std::ranges::find(subset.keywords, kDefinitions) != subset.keywords.end();
  const bool is_whole = define_targets(valid, keeps_definitions);
  if (subset.is_closed) References(valid).drop_unused(valid);
  SubsetWriter writer(subset, valid);
  SubsetSchema made{.schema = writer.write_root(), .is_loosened = writer.is_loosened() || !is_whole};
  if (writer.is_open()) return std::nullopt;
  const References references(made.schema);
  if (!subset.has_cycles && references.has_cycle()) return std::nullopt;
  if (subset.has_optional_cycles) references.loosen_cycles(made.schema, made.is_loosened);
  return made;
}

std::string format_in_words(const Json& schema) {
  constexpr std::string_view kDemand =
      "Answer with one JSON document alone, without Markdown around it. It must match this JSON Schema: ";
  return std::string(kDemand) + schemas::dump(schema);
}

}  // namespace millrace::providers

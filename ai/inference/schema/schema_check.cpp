#include "ai/inference/schema/schema_check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "schemas/json/json.h"
#include "schemas/json/json_body.h"
#include "schemas/json/json_text.h"

namespace millrace::inference {
namespace {

using schemas::Json;

constexpr std::size_t kBoundShownMax = 128;  // bytes of a schema value shown in a message

std::string bound_text(const Json& value) {
  return std::string(schemas::cut_text(schemas::dump(value), kBoundShownMax));
}

// JSON has only one number type: 2.0 is an integer.
bool is_whole(const Json& value) {
  if (!value.is_number_float()) return value.is_number_integer();
  const double number = value.get<double>();
  return std::isfinite(number) && std::trunc(number) == number;
}

bool is_of_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "integer") return is_whole(value);
  if (type == "boolean") return value.is_boolean();
  return value.is_null();
}

bool fits_type(const Json& value, const Json& type) {
  if (type.is_string()) return is_of_type(value, type.get_ref<const std::string&>());
  return std::any_of(type.begin(), type.end(),
                     [&](const Json& each) { return is_of_type(value, each.get_ref<const std::string&>()); });
}

bool is_multiple(const Json& value, const Json& of) {
  constexpr double kSlack = 1e-9;  // so that 0.3 counts as a multiple of 0.1
  const double times = value.get<double>() / of.get<double>();
  return std::isfinite(times) &&
         std::abs(times - std::round(times)) <= kSlack * std::max(1.0, std::abs(times));
}

bool are_unique(const Json& list) {
  std::vector<const Json*> sorted;
  for (const Json& each : list) sorted.push_back(&each);
  std::sort(sorted.begin(), sorted.end(), [](const Json* a, const Json* b) { return *a < *b; });
  return std::adjacent_find(sorted.begin(), sorted.end(),
                            [](const Json* a, const Json* b) { return *a == *b; }) == sorted.end();
}

// The value of `keyword`; null: absent.
const Json* keyword_of(const Json& schema, const char* keyword) {
  const auto at = schema.find(keyword);
  return at == schema.end() ? nullptr : &*at;
}

std::string number_fault(const Json& schema, const Json& value) {
  if (const Json* most = keyword_of(schema, "maximum"); most && *most < value)
    return "should be at most " + bound_text(*most);
  if (const Json* least = keyword_of(schema, "minimum"); least && value < *least)
    return "should be at least " + bound_text(*least);
  if (const Json* below = keyword_of(schema, "exclusiveMaximum"); below && !(value < *below))
    return "should be below " + bound_text(*below);
  if (const Json* above = keyword_of(schema, "exclusiveMinimum"); above && !(*above < value))
    return "should be above " + bound_text(*above);
  if (const Json* of = keyword_of(schema, "multipleOf"); of && !is_multiple(value, *of))
    return "should be a multiple of " + bound_text(*of);
  return {};
}

std::string count_fault(const Json& schema, std::size_t count, const char* least, const char* most,
                        const char* of) {
  if (const Json* bound = keyword_of(schema, least); bound && count < bound->get<std::uint64_t>())
    return "should have at least " + bound_text(*bound) + " " + of;
  if (const Json* bound = keyword_of(schema, most); bound && count > bound->get<std::uint64_t>())
    return "should have at most " + bound_text(*bound) + " " + of;
  return {};
}

std::string list_fault(const Json& schema, const Json& list) {
  std::string fault = count_fault(schema, list.size(), "minItems", "maxItems", "items");
  const Json* unique = keyword_of(schema, "uniqueItems");
  if (fault.empty() && unique && unique->get<bool>() && !are_unique(list)) return "has duplicate items";
  return fault;
}

std::string object_fault(const Json& schema, const Json& object) {
  if (const Json* required = keyword_of(schema, "required")) {
    for (const Json& name : *required)
      if (!object.contains(name.get_ref<const std::string&>())) return "has no member " + bound_text(name);
  }
  return count_fault(schema, object.size(), "minProperties", "maxProperties", "members");
}

}  // namespace

std::size_t json_steps(const Json& tree) {
  if (const auto* text = tree.get_ptr<const std::string*>()) return 1 + text->size() / kStepBytes;
  std::size_t steps = 1;
  if (tree.is_array())
    for (const Json& each : tree) steps += json_steps(each);
  if (tree.is_object())
    for (const auto& [name, each] : tree.items()) steps += name.size() / kStepBytes + json_steps(each);
  return steps;
}

std::size_t value_steps(const Json& schema, const Json& value) {
  std::size_t steps = 0;
  if (const Json* type = keyword_of(schema, "type"); type && type->is_array()) steps += type->size();
  for (const char* keyword : {"enum", "const"})
    if (const Json* choice = keyword_of(schema, keyword)) steps += json_steps(*choice);
  if (const auto* text = value.get_ptr<const std::string*>()) return steps + text->size() / kStepBytes;
  if (const Json* required = keyword_of(schema, "required"); required && value.is_object())
    steps += json_steps(*required);
  const Json* unique = keyword_of(schema, "uniqueItems");
  if (unique && unique->get<bool>() && value.is_array())
    steps += json_steps(value) * static_cast<std::size_t>(std::bit_width(value.size()));
  return steps;
}

std::string value_fault(const Json& schema, const Json& value) {
  if (const Json* type = keyword_of(schema, "type"); type && !fits_type(value, *type))
    return "should be of type " + bound_text(*type);
  const Json* choices = keyword_of(schema, "enum");
  if (choices && std::find(choices->begin(), choices->end(), value) == choices->end())
    return "should be one of " + bound_text(*choices);
  if (const Json* only = keyword_of(schema, "const"); only && *only != value)
    return "should be " + bound_text(*only);
  if (value.is_number()) return number_fault(schema, value);
  if (const auto* text = value.get_ptr<const std::string*>())
    return count_fault(schema, schemas::characters(*text), "minLength", "maxLength", "characters");
  if (value.is_array()) return list_fault(schema, value);
  return value.is_object() ? object_fault(schema, value) : std::string();
}

namespace {

constexpr std::size_t kPlaceMax = 256;  // bytes of a place shown in a message

}  // namespace

std::optional<SchemaCheck::Fault> SchemaCheck::check(const Json& document) {
  Found found = visit(form_.whole, document, Place(), 0);
  if (!gave_up_) return found;
  return Fault{"$", "the check would take more than " + std::to_string(kStepsMax) + " steps"};
}

bool SchemaCheck::charge(std::size_t steps) {
  steps_ += steps;
  gave_up_ = gave_up_ || steps_ > kStepsMax;
  return !gave_up_;
}

SchemaCheck::Fault SchemaCheck::fault(const Place& place, std::string what) const {
  if (quiet_ > 0) return {};
  std::string shown;
  for (const Place* at = &place; at->above != nullptr; at = at->above) {
    const std::string each = at->member == nullptr ? std::to_string(at->item) : *at->member;
    shown.insert(0, schemas::cut_text(each, kPlaceMax)).insert(0, 1, '.');
    if (shown.size() <= kPlaceMax) continue;
    // What remains begins between two characters.
    const std::size_t left_out = schemas::cut_text(shown, shown.size() - kPlaceMax).size();
    shown.replace(0, left_out, "…");
  }
  return {"$" + shown, std::move(what)};
}

SchemaCheck::Found SchemaCheck::visit(const Json& schema, const Json& document, const Place& place,
                                      int depth) {
  gave_up_ = gave_up_ || depth > kDepthMax;
  if (!charge(1)) return Fault();
  if (schema.is_boolean()) {
    if (schema.get<bool>()) return std::nullopt;
    return fault(place, "is not allowed");
  }
  if (const auto at = schema.find("$ref"); at != schema.end())
    return visit_reference(*at, document, place, depth);
  if (!charge(value_steps(schema, document))) return Fault();
  if (std::string what = value_fault(schema, document); !what.empty()) return fault(place, std::move(what));
  if (Found found = visit_alternatives(schema, document, place, depth)) return found;
  if (document.is_object()) return visit_members(schema, document, place, depth);
  return document.is_array() ? visit_items(schema, document, place, depth) : std::nullopt;
}

// The result for one schema and one part of the document is cached.
SchemaCheck::Found SchemaCheck::visit_reference(const Json& reference, const Json& document,
                                                const Place& place, int depth) {
  const Json& schema = *form_.links.at(&reference);
  const std::pair<const Json*, const Json*> entry(&schema, &document);
  if (const auto known = known_.find(entry); known != known_.end()) {
    if (known->second) return std::nullopt;
    return fault(place, "does not match " + reference.get<std::string>());
  }
  Found found = visit(schema, document, place, depth + 1);
  if (!gave_up_) known_.emplace(entry, !found);
  return found;
}

bool SchemaCheck::fits(const Json& schema, const Json& document, const Place& place, int depth) {
  ++quiet_;
  const Found found = visit(schema, document, place, depth + 1);
  --quiet_;
  return !found;
}

SchemaCheck::Found SchemaCheck::visit_alternatives(const Json& schema, const Json& document,
                                                   const Place& place, int depth) {
  if (const auto all = schema.find("allOf"); all != schema.end()) {
    for (const Json& each : *all)
      if (Found found = visit(each, document, place, depth + 1)) return found;
  }
  if (const auto any = schema.find("anyOf"); any != schema.end()) {
    const auto right = [&](const Json& each) { return fits(each, document, place, depth); };
    if (any->size() == 1) {
      if (Found found = visit(any->front(), document, place, depth + 1)) return found;
    } else if (std::none_of(any->begin(), any->end(), right)) {
      return fault(place, "matches none of anyOf");
    }
  }
  if (const auto one = schema.find("oneOf"); one != schema.end()) {
    const auto right = [&](const Json& each) { return fits(each, document, place, depth); };
    const auto count = std::count_if(one->begin(), one->end(), right);
    if (count != 1)
      return fault(place, "matches " + std::to_string(count) + " schemas of oneOf, not exactly 1");
  }
  const auto none = schema.find("not");
  if (none != schema.end() && fits(*none, document, place, depth))
    return fault(place, "matches the schema of not");
  return std::nullopt;
}

SchemaCheck::Found SchemaCheck::visit_members(const Json& schema, const Json& document, const Place& place,
                                              int depth) {
  const auto properties = schema.find("properties");
  const auto others = schema.find("additionalProperties");
  for (auto member = document.begin(); member != document.end(); ++member) {
    if (!charge(1 + member.key().size() / kStepBytes)) return Fault();
    const Json* each = others == schema.end() ? nullptr : &*others;
    if (properties != schema.end()) {
      const auto named = properties->find(member.key());
      if (named != properties->end()) each = &*named;
    }
    if (each == nullptr) continue;
    const Place inside{.above = &place, .member = &member.key()};
    if (Found found = visit(*each, member.value(), inside, depth + 1)) return found;
  }
  return std::nullopt;
}

SchemaCheck::Found SchemaCheck::visit_items(const Json& schema, const Json& document, const Place& place,
                                            int depth) {
  const auto items = schema.find("items");
  if (items == schema.end()) return std::nullopt;
  for (std::size_t i = 0; i < document.size(); ++i) {
    const Place inside{.above = &place, .item = i};
    if (Found found = visit(*items, document[i], inside, depth + 1)) return found;
  }
  return std::nullopt;
}

}  // namespace millrace::inference

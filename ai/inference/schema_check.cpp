#include "ai/inference/schema_check.h"

#include <algorithm>

#include "ai/inference/schema_value.h"

namespace millrace::inference {
namespace {

constexpr std::size_t kPlaceMax = 256;  // bytes of a place in a message

}  // namespace

std::optional<SchemaCheck::Fault> SchemaCheck::check(const Json& document) {
  Found found = visit(form_.whole, document, Place(), 0);
  if (!gave_up_) return found;
  return Fault{"$", "to check it would take more than " + std::to_string(kStepsMax) + " steps"};
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
    shown.insert(0, "." + each.substr(0, kPlaceMax));
    if (shown.size() > kPlaceMax) shown.replace(0, shown.size() - kPlaceMax, "…");
  }
  return {"$" + shown, std::move(what)};
}

SchemaCheck::Found SchemaCheck::visit(const Json& schema, const Json& document, const Place& place,
                                      int depth) {
  gave_up_ = gave_up_ || depth > kDepthMax;
  if (!charge(1)) return Fault();
  if (schema.is_boolean()) {
    if (schema.get<bool>()) return std::nullopt;
    return fault(place, "should not be there");
  }
  if (const auto at = schema.find("$ref"); at != schema.end())
    return visit_reference(*at, document, place, depth);
  if (!charge(value_steps(schema, document))) return Fault();
  if (std::string what = value_fault(schema, document); !what.empty()) return fault(place, std::move(what));
  if (Found found = visit_alternatives(schema, document, place, depth)) return found;
  if (document.is_object()) return visit_members(schema, document, place, depth);
  return document.is_array() ? visit_items(schema, document, place, depth) : std::nullopt;
}

// What one schema has said of one part of the document is known when it is asked again.
SchemaCheck::Found SchemaCheck::visit_reference(const Json& reference, const Json& document,
                                                const Place& place, int depth) {
  const Json& schema = *form_.links.at(&reference);
  const std::pair<const Json*, const Json*> asked(&schema, &document);
  if (const auto known = known_.find(asked); known != known_.end()) {
    if (known->second) return std::nullopt;
    return fault(place, "does not fit " + reference.get<std::string>());
  }
  Found found = visit(schema, document, place, depth + 1);
  if (!gave_up_) known_.emplace(asked, !found);
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
      return fault(place, "fits none of anyOf");
    }
  }
  if (const auto one = schema.find("oneOf"); one != schema.end()) {
    const auto right = [&](const Json& each) { return fits(each, document, place, depth); };
    const auto count = std::count_if(one->begin(), one->end(), right);
    if (count != 1) return fault(place, "fits " + std::to_string(count) + " of oneOf");
  }
  const auto none = schema.find("not");
  if (none != schema.end() && fits(*none, document, place, depth))
    return fault(place, "fits what it should not");
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

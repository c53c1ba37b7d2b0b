#include "ai/providers/schema_references.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ai/providers/json_schema.h"
#include "schemas/json/json_tree.h"

namespace millrace::providers {
namespace {

// True for "#" and "#/$defs/name".
bool leads_to_definition(std::string_view reference, bool keeps_definitions) {
  if (reference == "#") return true;
  for (const std::string_view begin : {"#/$defs/", "#/definitions/"}) {
    const bool is_kept = keeps_definitions || begin == "#/$defs/";
    if (is_kept && reference.starts_with(begin))
      return reference.find('/', begin.size()) == std::string_view::npos;
  }
  return false;
}

class TargetCopies {
 public:
  TargetCopies(const Json& given, bool keeps_definitions)
      : given_(given), keeps_definitions_(keeps_definitions) {
    const Json* named = member(given, "$defs");
    if (named == nullptr) return;
    for (const auto& [name, schema] : named->items()) taken_.insert(name);
  }

  // Returns whether all targets could be copied.
  bool redirect(Json& root) {
    each_schema(root, [this](Json& each) { redirect_one(each); });
    for (std::size_t i = 0; i < open_.size(); ++i) {
      const auto [target, name] = open_[i];
      Json copy = valid_schema(*target);
      each_schema(copy, [this](Json& each) { redirect_one(each); });
      root["$defs"][name] = std::move(copy);
    }
    return !is_cut_;
  }

 private:
  void redirect_one(Json& schema) {
    if (!schema.contains("$ref")) return;
    const std::string_view reference = text_of(schema, "$ref");
    const Json* target = referenced(given_, reference);
    if (target == nullptr || leads_to_definition(reference, keeps_definitions_)) return;
    if (target == &given_) {
      schema["$ref"] = "#";
    } else if (const std::string name = name_of(target, reference); !name.empty()) {
      schema["$ref"] = "#/$defs/" + name;
    } else {
      schema.erase("$ref");
    }
  }

  // Empty: the target is too large.
  std::string name_of(const Json* target, std::string_view reference) {
    const auto [known, is_new] = names_.try_emplace(target);
    if (!is_new) return known->second;
    bytes_ += schemas::tree_bytes(*target);
    if (bytes_ > SchemaTree::kBytesMax) {
      is_cut_ = true;
      return {};
    }
    known->second = free_name(reference.substr(reference.rfind('/') + 1));
    open_.emplace_back(target, known->second);
    return known->second;
  }

  std::string free_name(std::string_view step) {
    std::string name(step);
    std::ranges::replace_if(
        name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    if (name.empty()) name = "_";
    std::string made = name;
    int& number = next_.try_emplace(name, 2).first->second;
    for (; !taken_.insert(made).second; ++number) made = name + "_" + std::to_string(number);
    return made;
  }

  const Json& given_;
  const bool keeps_definitions_;
  std::set<std::string> taken_;      // names of definitions
  std::map<std::string, int> next_;  // number of a name that others have, too
  std::map<const Json*, std::string> names_;
  std::vector<std::pair<const Json*, std::string>> open_;  // in the order in which they are copied
  std::size_t bytes_ = 0;
  bool is_cut_ = false;
};

}  // namespace

bool define_targets(Json& root, bool keeps_definitions) {
  if (!root.is_object()) return true;
  const Json given = root;
  return TargetCopies(given, keeps_definitions).redirect(root);
}

bool drop_lost_references(Json& root) {
  std::vector<Json*> lost;
  each_schema(root, [&](Json& schema) {
    if (schema.contains("$ref") && referenced(root, text_of(schema, "$ref")) == nullptr)
      lost.push_back(&schema);
  });
  for (Json* schema : lost) schema->erase("$ref");
  return !lost.empty();
}

}  // namespace millrace::providers

#include "ai/inference/schema_links.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "ai/inference/schema_form.h"
#include "ai/inference/schema_keywords.h"
#include "ai/inference/schema_place.h"

namespace millrace::inference {
namespace {

using nlohmann::json;

// `visit` with each schema in `schema`, itself first, and with its place. The depth is that of the request's
// JSON, which is bounded.
template <class Visit>
void each_schema(const json& schema, std::string& place, const Visit& visit) {
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

// One member's name in a JSON pointer as it is in the tree; nullopt: a `~` that is none of ~0 and ~1.
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

const json* item_at(const json& list, std::string_view token) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool is_index = error == std::errc() && end == token.data() + token.size();
  if (!is_index || index >= list.size() || std::to_string(index) != token) return nullptr;
  return &list[index];
}

const json* step_into(const json& tree, std::string_view token) {
  if (tree.is_array()) return item_at(tree, token);
  const auto name = unescaped(token);
  if (!tree.is_object() || !name) return nullptr;
  const auto at = tree.find(*name);
  return at == tree.end() ? nullptr : &*at;
}

// Null: there is nothing.
const json* pointed_at(const json& whole, std::string_view pointer) {
  const json* at = &whole;
  while (at != nullptr && !pointer.empty()) {
    if (pointer.front() != '/') return nullptr;
    pointer.remove_prefix(1);
    const std::size_t length = std::min(pointer.find('/'), pointer.size());
    at = step_into(*at, pointer.substr(0, length));
    pointer.remove_prefix(length);
  }
  return at;
}

// Finds what the $refs of one schema mean.
class LinkReader {
 public:
  explicit LinkReader(const json& whole) : whole_(whole) {}

  base::Result<SchemaLinks> read() {
    each_schema(whole_, place_, [this](const json& schema) { places_.insert(&schema); });
    each_schema(whole_, place_, [this](const json& schema) { link(schema); });
    if (failed_) return *std::move(failed_);
    each_schema(whole_, place_, [this](const json& schema) {
      if (!failed_ && !ends(schema)) fail("refers to itself without a property or an item between");
    });
    if (failed_) return *std::move(failed_);
    return std::move(links_);
  }

 private:
  void fail(const std::string& what) {
    if (!failed_) failed_ = schema_error(place_, what);
  }

  void link(const json& schema) {
    if (!schema.is_object()) return;
    const auto reference = schema.find("$ref");
    if (reference == schema.end()) return;
    const PlaceStep inside(place_, "$ref");
    const json* target =
        pointed_at(whole_, std::string_view(reference->get_ref<const std::string&>()).substr(1));
    if (!places_.contains(target)) return fail("refers to no schema in this one");
    links_.emplace(&*reference, target);
  }

  // What is checked of the same value leads back to `schema` on no way.
  bool ends(const json& schema) {
    if (!schema.is_object() || ended_.contains(&schema)) return true;
    if (!way_.insert(&schema).second) return false;
    bool good = true;
    if (const auto at = schema.find("$ref"); at != schema.end()) good = ends(*links_.at(&*at));
    for (const char* keyword : {"anyOf", "oneOf", "allOf"}) {
      const auto at = schema.find(keyword);
      if (at == schema.end()) continue;
      for (const json& each : *at) good = good && ends(each);
    }
    if (const auto at = schema.find("not"); at != schema.end()) good = good && ends(*at);
    way_.erase(&schema);
    ended_.insert(&schema);
    return good;
  }

  const json& whole_;
  std::string place_;  // where `each_schema` is
  std::unordered_set<const json*> places_, way_, ended_;
  SchemaLinks links_;
  std::optional<base::Error> failed_;
};

}  // namespace

base::Result<SchemaLinks> schema_links(const json& whole) { return LinkReader(whole).read(); }

}  // namespace millrace::inference

#include <algorithm>

#include "ai/providers/mock.h"
#include "ai/providers/schema_reference.h"

namespace millrace::providers {
namespace {

constexpr int kDepthMax = 16;
constexpr int kDeep = 8;  // from here on the shortest way to an end
constexpr int kNodesMax = 10'000;

class Maker {
 public:
  Maker(const Json& root, const std::string& text) : root_(root), text_(text) {}

  Json make(const Json& schema, int depth) {
    if (++nodes_ > kNodesMax || depth > kDepthMax || !schema.is_object()) return nullptr;
    if (const std::string_view reference = text_of(schema, "$ref"); !reference.empty()) {
      const Json* meant = referenced(root_, reference);
      return meant != nullptr ? make(*meant, depth + 1) : Json();
    }
    for (const char* word : {"const", "default"}) {
      if (schema.contains(word)) return schema[word];
    }
    if (const Json* values = list_of(schema, "enum")) return values->front();
    for (const char* word : {"anyOf", "oneOf", "allOf"}) {
      if (const Json* choices = list_of(schema, word)) return make(choice_of(*choices, depth), depth + 1);
    }
    return made_by_type(schema, depth);
  }

 private:
  static const Json* list_of(const Json& schema, const char* word) {
    const Json* list = member(schema, word);
    return list != nullptr && list->is_array() && !list->empty() ? list : nullptr;
  }

  static const Json& choice_of(const Json& choices, int depth) {
    const auto null =
        std::ranges::find_if(choices, [](const Json& one) { return text_of(one, "type") == "null"; });
    return depth >= kDeep && null != choices.end() ? *null : choices.front();
  }

  static std::string_view type_of(const Json& schema) {
    const Json* types = list_of(schema, "type");
    const std::string_view type = types != nullptr ? text_of(&types->front()) : text_of(schema, "type");
    return type.empty() ? "object" : type;
  }

  Json made_by_type(const Json& schema, int depth) {
    const std::string_view type = type_of(schema);
    if (type == "string") return text_;
    if (type == "integer" || type == "number") return schema.value("minimum", Json(1));
    if (type == "boolean") return true;
    if (type == "null") return nullptr;
    return type == "array" ? list(schema, depth) : object(schema, depth);
  }

  Json list(const Json& schema, int depth) {
    Json items = Json::array();
    const Json* item = member(schema, "items");
    if (item != nullptr && depth < kDeep) items.push_back(make(*item, depth + 1));
    return items;
  }

  Json object(const Json& schema, int depth) {
    Json object = Json::object();
    const Json* properties = member(schema, "properties");
    if (properties == nullptr || !properties->is_object()) return object;
    for (const auto& [name, property] : properties->items()) {
      if (nodes_ > kNodesMax) break;
      object[name] = make(property, depth + 1);
    }
    return object;
  }

  const Json& root_;
  const std::string& text_;
  int nodes_ = 0;
};

}  // namespace

Json mock_value(const Json& schema, const std::string& text) { return Maker(schema, text).make(schema, 0); }

}  // namespace millrace::providers

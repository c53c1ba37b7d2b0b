#include "schemas/json/json_tree.h"

#include <memory>
#include <string>
#include <utility>

#include <simdjson.h>

#include "schemas/json/json_number.h"

namespace millrace::schemas {
namespace {

namespace dom = simdjson::dom;
constexpr std::size_t kKeptParserMax = 32u << 10;  // a larger text uses a separate parser

// Builds the tree; false: it has more than `depth` levels below.
bool build(const dom::element& from, Json& out, int depth);

bool build_object(const dom::object& from, Json& out, int depth) {
  if (depth <= 0) return false;
  auto& members = *(out = Json::object()).get_ptr<Json::object_t*>();
  for (const dom::key_value_pair member : from) {
    const auto at = members.emplace(member.key, nullptr).first;
    if (!build(member.value, at->second, depth - 1)) return false;
  }
  return true;
}

bool build_array(const dom::array& from, Json& out, int depth) {
  if (depth <= 0) return false;
  auto& items = *(out = Json::array()).get_ptr<Json::array_t*>();
  for (const dom::element item : from) {
    if (!build(item, items.emplace_back(), depth - 1)) return false;
  }
  return true;
}

void build_integer(std::int64_t from, Json& out) {
  if (from >= 0) {
    out = static_cast<std::uint64_t>(from);
  } else {
    out = from;
  }
}

bool build(const dom::element& from, Json& out, int depth) {
  switch (from.type()) {
    case dom::element_type::OBJECT:
      return build_object(from.get_object().value_unsafe(), out, depth);
    case dom::element_type::ARRAY:
      return build_array(from.get_array().value_unsafe(), out, depth);
    case dom::element_type::STRING:
      out = std::string(from.get_string().value_unsafe());
      return true;
    case dom::element_type::INT64:
      build_integer(from.get_int64().value_unsafe(), out);
      return true;
    case dom::element_type::UINT64:
      out = from.get_uint64().value_unsafe();
      return true;
    case dom::element_type::DOUBLE:
      out = from.get_double().value_unsafe();
      return true;
    case dom::element_type::BOOL:
      out = from.get_bool().value_unsafe();
      return true;
    case dom::element_type::NULL_VALUE:
      out = nullptr;
      return true;
  }
  return false;
}

bool is_shallow(std::string_view text, int depth_max) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > depth_max) return false;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return true;
}

// Keeps the spelling of numbers that would change.
class SpellingReader : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  explicit SpellingReader(Json& out) : json_sax_dom_parser(out, false) {}
  bool number_float(double value, const std::string& spelling) {
    if (keeps_value(spelling)) return json_sax_dom_parser::number_float(value, spelling);
    return binary(spelled_number(spelling).get_binary());
  }
};

// Rare cases: JSON that simdjson rejects (a number with too many digits), and errors that it does not detect
// (an escaped lone surrogate).
std::optional<Json> parse_slowly(std::string_view text, int depth_max) {
  if (!is_shallow(text, depth_max)) return std::nullopt;
  Json value;
  SpellingReader reader(value);
  if (!Json::sax_parse(text, &reader)) return std::nullopt;
  return value;
}

bool may_have_surrogates(std::string_view text) {
  return text.find("\\ud") != std::string_view::npos || text.find("\\uD") != std::string_view::npos;
}

std::optional<Json> parse_by(dom::parser& parser, std::string_view text, int depth_max) {
  dom::element root;
  if (parser.parse(text.data(), text.size()).get(root) != simdjson::SUCCESS)
    return parse_slowly(text, depth_max);
  Json value;
  if (!build(root, value, depth_max)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Json> parse_json(std::string_view text, int depth_max) {
  if (may_have_surrogates(text)) return parse_slowly(text, depth_max);
  if (text.size() <= kKeptParserMax) {
    thread_local dom::parser kept;
    return parse_by(kept, text, depth_max);
  }
  return parse_by(*std::make_unique<dom::parser>(), text, depth_max);
}

Json spelled_number(std::string_view spelling) {
  return Json::binary(Json::binary_t::container_type(spelling.begin(), spelling.end()), kSpelledNumber);
}

std::optional<std::string_view> spelling_of(const Json& value) {
  const auto* binary = value.get_ptr<const Json::binary_t*>();
  if (binary == nullptr || !binary->has_subtype() || binary->subtype() != kSpelledNumber) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(binary->data()), binary->size());
}

void round_numbers(Json& tree) {
  if (const auto spelling = spelling_of(tree)) {
    tree = json_number(*spelling).value_or(0);
  } else if (tree.is_structured()) {
    for (Json& each : tree) round_numbers(each);
  }
}

std::size_t text_bytes(const Json& tree) {
  if (const auto* text = tree.get_ptr<const std::string*>()) return text->size();
  std::size_t bytes = 0;
  if (tree.is_array())
    for (const Json& each : tree) bytes += text_bytes(each);
  if (tree.is_object())
    for (const auto& [name, each] : tree.items()) bytes += name.size() + text_bytes(each);
  return bytes;
}

std::size_t tree_bytes(const Json& tree) {
  std::size_t bytes = sizeof(Json);
  if (const auto* text = tree.get_ptr<const std::string*>()) bytes += text->size();
  if (tree.is_array())
    for (const Json& each : tree) bytes += tree_bytes(each);
  if (tree.is_object())
    for (const auto& [name, each] : tree.items()) bytes += name.size() + tree_bytes(each);
  return bytes;
}

}  // namespace millrace::schemas

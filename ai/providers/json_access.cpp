#include "ai/providers/json_access.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "schemas/json/broken_json.h"
#include "schemas/json/json_tree.h"

namespace millrace::providers {

std::optional<Json> parse_wire(std::string_view text) {
  std::optional<Json> tree = schemas::parse_json(text, kWireDepthMax);
  if (tree || schemas::is_valid_utf8_json(text)) return tree;
  return schemas::parse_json(schemas::repair_utf8_json(text), kWireDepthMax);
}

const Json* member(const Json& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json* member(const Json* object, std::string_view name) {
  return object == nullptr ? nullptr : member(*object, name);
}

std::string_view text_of(const Json* value) {
  if (value == nullptr || !value->is_string()) return {};
  return value->get_ref<const std::string&>();
}

std::string_view text_of(const Json& object, std::string_view name) { return text_of(member(object, name)); }

std::optional<std::int64_t> integer_of(const Json* value) {
  constexpr double kBound = 9.0e18;
  if (value == nullptr || !value->is_number()) return std::nullopt;
  if (value->is_number_float()) {
    const double number = value->get<double>();
    if (!(number > -kBound && number < kBound)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    return std::nullopt;
  }
  return value->get<std::int64_t>();
}

std::optional<std::int64_t> integer_of(const Json& object, std::string_view name) {
  return integer_of(member(object, name));
}

bool is_true(const Json* value) { return value != nullptr && value->is_boolean() && value->get<bool>(); }

std::string unescaped_step(std::string_view step) {
  std::string text;
  for (std::size_t i = 0; i < step.size(); ++i) {
    unsigned char byte = 0;
    const char* begin = step.data() + std::min(i + 1, step.size());
    const char* end = step.data() + std::min(i + 3, step.size());
    if (step[i] == '~' && i + 1 < step.size()) {
      text.push_back(step[++i] == '1' ? '/' : '~');
    } else if (step[i] == '%' && end - begin == 2 && std::from_chars(begin, end, byte, 16).ptr == end) {
      text.push_back(static_cast<char>(byte));
      i += 2;
    } else {
      text.push_back(step[i]);
    }
  }
  return text;
}

const Json* referenced(const Json& root, std::string_view reference) {
  if (!reference.starts_with('#')) return nullptr;
  reference.remove_prefix(1);
  const Json* at = &root;
  while (at != nullptr && reference.starts_with('/')) {
    reference.remove_prefix(1);
    const std::size_t end = std::min(reference.find('/'), reference.size());
    const std::string segment = unescaped_step(reference.substr(0, end));
    if (at->is_array()) {
      std::size_t index = at->size();
      std::from_chars(segment.data(), segment.data() + segment.size(), index);
      at = index < at->size() ? &(*at)[index] : nullptr;
    } else {
      at = member(*at, segment);
    }
    reference.remove_prefix(end);
  }
  return reference.empty() ? at : nullptr;
}

}  // namespace millrace::providers

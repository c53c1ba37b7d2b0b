#include "schemas/media/ocr_options.h"

#include <optional>
#include <utility>

#include "schemas/json/json_body.h"
#include "schemas/json/json_tree.h"

namespace millrace::schemas {
namespace {

// With a copy of each long string in its place.
Json whole_value(FieldReader& reader, const Json& value) {
  if (value.is_binary()) return Json(reader.text(value).value_or(""));
  if (!value.is_structured()) return value;
  Json made = value.is_array() ? Json::array() : Json::object();
  for (const auto& [name, each] : value.items()) {
    if (value.is_array()) {
      made.push_back(whole_value(reader, each));
    } else {
      made[name] = whole_value(reader, each);
    }
  }
  return made;
}

void add(Json& options, std::string_view name, FieldReader& reader, Json value) {
  options[std::string(name)] = std::move(value);
  if (dump(options).size() <= kOcrOptionsBytesMax) return;
  reader.problem("The options should have at most " + std::to_string(kOcrOptionsBytesMax) + " bytes",
                 "too_long");
}

}  // namespace

void store_ocr_option(Json& options, std::string_view name, FieldReader& reader, const Json& value) {
  add(options, name, reader, whole_value(reader, value));
}

void store_ocr_option_text(Json& options, std::string_view name, FieldReader& reader, const Json& value) {
  const bool is_list = value.is_array();  // of a form: the values with this name
  const auto text = is_list && value.size() != 1 ? std::nullopt : reader.text(is_list ? value[0] : value);
  std::optional<Json> object = text ? parse_json(*text, kJsonDepthMax) : std::nullopt;
  if (!object || !object->is_object()) return reader.problem("Input should be a JSON object", "json_invalid");
  round_numbers(*object);
  add(options, name, reader, *std::move(object));
}

std::vector<std::string> requested_ocr_options(const Json& options) {
  std::vector<std::string> names;
  for (const auto& [name, value] : options.items()) {
    if (!value.is_null() && value != false) names.push_back(name);
  }
  return names;
}

}  // namespace millrace::schemas

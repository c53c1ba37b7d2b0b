#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "schemas/chat_text.h"
#include "schemas/json_body.h"

// What schemas::dump writes: nlohmann's own writer looks at each byte of each string.
namespace millrace::schemas {
namespace {

using nlohmann::json;

void append_value(std::string& out, const json& value);

template <class Number>
void append_integer(std::string& out, Number number) {
  std::array<char, 24> digits{};
  const auto [end, failed] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  if (failed == std::errc()) out.append(digits.data(), end);
}

void append_object(std::string& out, const json::object_t& members) {
  out += '{';
  bool first = true;
  for (const auto& [name, value] : members) {
    if (!std::exchange(first, false)) out += ',';
    append_clean(out, name);
    out += ':';
    append_value(out, value);
  }
  out += '}';
}

void append_array(std::string& out, const json::array_t& items) {
  out += '[';
  bool first = true;
  for (const json& item : items) {
    if (!std::exchange(first, false)) out += ',';
    append_value(out, item);
  }
  out += ']';
}

void append_value(std::string& out, const json& value) {
  switch (value.type()) {
    case json::value_t::object:
      return append_object(out, *value.get_ptr<const json::object_t*>());
    case json::value_t::array:
      return append_array(out, *value.get_ptr<const json::array_t*>());
    case json::value_t::string:
      return append_clean(out, *value.get_ptr<const json::string_t*>());
    case json::value_t::boolean:
      out += *value.get_ptr<const json::boolean_t*>() ? "true" : "false";
      return;
    case json::value_t::number_integer:
      return append_integer(out, *value.get_ptr<const json::number_integer_t*>());
    case json::value_t::number_unsigned:
      return append_integer(out, *value.get_ptr<const json::number_unsigned_t*>());
    case json::value_t::null:
      out += "null";
      return;
    case json::value_t::number_float:
    case json::value_t::binary:
    case json::value_t::discarded:
      break;
  }
  out += value.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string dump(const json& value) {
  std::string out;
  append_value(out, value);
  return out;
}

}  // namespace millrace::schemas

#pragma once
#include <optional>
#include <string_view>

#include <simdjson.h>

#include "schemas/json/json_string.h"

// For the fast parsers of this module (ADR 21). They accept only simple bodies; the tree parser handles, and
// rejects, all others.
namespace millrace::schemas {

inline bool is_good(simdjson::error_code code) { return code == simdjson::SUCCESS; }

// Calls `read` with the name (not unescaped) and value of each member, as long as it returns true. False:
// `read` returned false, or the object is not valid JSON. `end`: the end of the body.
template <class Read>
bool read_members(simdjson::ondemand::object& object, const char* end, Read&& read) {
  for (auto each : object) {
    simdjson::ondemand::field field;
    if (!is_good(std::move(each).get(field))) return false;
    const auto name = json_string_at(field.key().raw(), end);
    if (!name || !read(*name, field.value())) return false;
  }
  return true;
}

// The content of a string, not unescaped; nullopt: the value is not a string.
inline std::optional<std::string_view> string_inside(simdjson::ondemand::value& value, const char* end) {
  simdjson::ondemand::raw_json_string raw;
  if (!is_good(value.get_raw_json_string().get(raw))) return std::nullopt;
  return json_string_at(raw.raw(), end);
}

// True: only white space follows the parsed value.
inline bool is_read_whole(simdjson::ondemand::document& document) {
  const char* rest = nullptr;
  return !is_good(document.current_location().get(rest));
}

// Returns `body` as simdjson requires it, with readable bytes past its end.
inline simdjson::padded_string_view padded(std::string& body, std::size_t padding) {
  if (body.capacity() < body.size() + padding) body.reserve(body.size() + padding);
  return simdjson::padded_string_view(body.data(), body.size(), body.capacity());
}

}  // namespace millrace::schemas

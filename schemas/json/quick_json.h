#pragma once
#include <optional>
#include <string_view>

#include <simdjson.h>

#include "schemas/json/json_string.h"

// For this room's readers of usual bodies (ADR 21): what is not plain is for the reader of trees to judge.
namespace millrace::schemas {

inline bool is_good(simdjson::error_code code) { return code == simdjson::SUCCESS; }

// Gives each member's name, as written, and value to `read` while that says true. False: one was refused, or
// the object is no JSON. `end`: of the body.
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

// The inside of a string, as written; nullopt: it is none.
inline std::optional<std::string_view> string_inside(simdjson::ondemand::value& value, const char* end) {
  simdjson::ondemand::raw_json_string raw;
  if (!is_good(value.get_raw_json_string().get(raw))) return std::nullopt;
  return json_string_at(raw.raw(), end);
}

// Nothing but blanks follows what was read of it.
inline bool is_read_whole(simdjson::ondemand::document& document) {
  const char* rest = nullptr;
  return !is_good(document.current_location().get(rest));
}

// `body` as simdjson wants it: with readable bytes past its end.
inline simdjson::padded_string_view padded(std::string& body, std::size_t padding) {
  if (body.capacity() < body.size() + padding) body.reserve(body.size() + padding);
  return simdjson::padded_string_view(body.data(), body.size(), body.capacity());
}

}  // namespace millrace::schemas

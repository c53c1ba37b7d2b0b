#include "app/cli/json_cells.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace millrace::cli {

using nlohmann::json;

std::string text_at(const json& of, const char* key) {
  const auto found = of.find(key);
  return found != of.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string plain(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

}  // namespace millrace::cli

#include "app/environment.h"

#include <string_view>

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace millrace::app {

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

}  // namespace millrace::app

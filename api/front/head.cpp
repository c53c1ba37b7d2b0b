#include <strings.h>

#include "api/front/exchange.h"

namespace millrace::front {

std::optional<std::string_view> Head::header(std::string_view name) const {
  for (const Header& header : headers) {
    if (header.name.size() == name.size() && strncasecmp(header.name.data(), name.data(), name.size()) == 0) {
      return header.value;
    }
  }
  return std::nullopt;
}

}  // namespace millrace::front

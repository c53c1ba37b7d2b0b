#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/ids.h"

namespace millrace::schemas {

// Ids of the API: a prefix, such as "file-", and a lower-case UUID.
inline std::optional<base::Uuid> uuid_after(std::string_view prefix, std::string_view text) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return base::Uuid::parse(text.substr(prefix.size()));
}

inline std::string prefixed_id(std::string_view prefix, const base::Uuid& id) {
  std::string out(prefix);
  id.append_to(out);
  return out;
}

}  // namespace millrace::schemas

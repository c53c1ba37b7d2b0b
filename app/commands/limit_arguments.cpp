#include "app/commands/limit_arguments.h"

#include "platform/base/bytes.h"

namespace millrace::app {
namespace {

using schemas::Quota;

std::string quota_names() {
  std::string text;
  for (std::size_t i = 0; i < schemas::kQuotaCount; ++i)
    text.append(i == 0 ? "" : ", ").append(schemas::name(static_cast<Quota>(i)));
  return text;
}

// False: it has another form.
bool apply(const std::string& argument, schemas::Limits& limits) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string::npos) return false;
  const std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
  for (std::size_t i = 0; i < schemas::kQuotaCount; ++i) {
    const Quota quota = static_cast<Quota>(i);
    if (name != schemas::name(quota)) continue;
    if (value == "default") {
      limits[quota].reset();
    } else if (value == "unlimited") {
      limits[quota] = schemas::kUnlimited;
    } else {
      // A size with a unit only where bytes are counted.
      const bool is_plain = value.find_first_not_of("0123456789") == std::string::npos;
      const auto number = is_plain || quota == Quota::kStoredBytes ? base::parse_bytes(value) : std::nullopt;
      if (!number || *number > schemas::kQuotaMax) return false;
      limits[quota] = *number;
    }
    return true;
  }
  return false;
}

}  // namespace

base::Status apply_limit(const std::string& argument, schemas::Limits& limits) {
  if (apply(argument, limits)) return {};
  return base::error(base::Code::kInvalidField,
                     "'" + argument +
                         "' is no limit: write QUOTA=NUMBER, QUOTA=unlimited or QUOTA=default; the " +
                         "quotas are " + quota_names());
}

}  // namespace millrace::app

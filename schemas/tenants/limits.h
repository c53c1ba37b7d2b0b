#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "schemas/field.h"
#include "schemas/json/json.h"

namespace millrace::schemas {

// What a tenant, or one API key, may use (docs/design/http-contract.md §9). The names are those of the API.
enum class Quota : std::uint8_t {
  kRequestsPerMinute,
  kTokensPerMinute,  // of chat completions that are answered directly, in and out
  kRunningJobs,      // accepted and not ended
  kStoredJobs,       // not deleted yet, ended or not
  kStoredBytes,  // of requests, documents, results, output and artifacts of stored jobs, and of image files
  kPagesPerDay,  // of OCR, per UTC day
  kMachines,     // not destroyed, like the next three
  kVcpu,
  kMemoryMib,
  kStorageGib,
  kSshSessions,  // waiting or valid
};
inline constexpr std::size_t kQuotaCount = static_cast<std::size_t>(Quota::kSshSessions) + 1;
std::string_view name(Quota quota);  // "requests_per_minute"

inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();
inline constexpr std::int64_t kQuotaMax = std::int64_t{1} << 53;  // the largest limit; exact in JSON

// A limit per quota: absent (the default applies), a number of at least 0, or kUnlimited.
class Limits {
 public:
  std::optional<std::int64_t>& operator[](Quota quota) { return values_[static_cast<std::size_t>(quota)]; }
  const std::optional<std::int64_t>& operator[](Quota quota) const {
    return values_[static_cast<std::size_t>(quota)];
  }
  // The limit of a quota; kUnlimited if it is absent.
  std::int64_t of(Quota quota) const { return (*this)[quota].value_or(kUnlimited); }
  // These limits, and those of `defaults` where one is absent.
  Limits or_else(const Limits& defaults) const;
  bool empty() const { return *this == Limits(); }
  friend bool operator==(const Limits&, const Limits&) = default;

 private:
  std::array<std::optional<std::int64_t>, kQuotaCount> values_{};
};

// {"machines": 3, "vcpu": "unlimited"}: only what is present.
std::string limits_json(const Limits& limits);
// The limits in a text of limits_json; other text and unknown names count as absent.
Limits limits_of(std::string_view json);
// Reads the value of a field `limits`: an object of numbers, "unlimited" and null. Reports problems, also
// unknown names.
void read_limits(FieldReader& reader, const Json& value, Limits& to);
// The JSON Schema of that value.
std::string_view limits_schema();

}  // namespace millrace::schemas

#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

namespace millrace::schemas {

// The permissions of an API key (docs/design/http-contract.md §0).
enum class Scope : std::uint8_t {
  kModels,
  kChat,
  kEmbeddings,
  kImages,
  kAudio,
  kOcr,
  kExecRun,
  kExecRead,
  kSshIssue,
  kMachinesWrite,
  kJobsRead,
  kJobsWrite,
  kFilesRead,
  kFilesWrite,
  kWebhooksRead,
  kWebhooksWrite,
  kMetrics,      // only /metrics; `admin` includes it
  kTenantAdmin,  // the keys of its own tenant; `admin` includes it
  kAdmin,        // the whole installation
};
inline constexpr std::size_t kScopeCount = static_cast<std::size_t>(Scope::kAdmin) + 1;
std::string_view name(Scope scope);  // "exec:run"
std::optional<Scope> scope_named(std::string_view name);

class ScopeSet {
 public:
  constexpr ScopeSet() = default;
  // The default scopes of a new key: everything but administration and metrics.
  static ScopeSet of_a_new_key();
  static ScopeSet all();
  // kInvalidField names the unknown scope and the nearest valid one.
  static base::Result<ScopeSet> parse(const std::vector<std::string>& names);

  constexpr bool has(Scope scope) const { return (bits_ & bit(scope)) != 0; }
  constexpr bool has_all(ScopeSet other) const { return (other.bits_ & ~bits_) == 0; }
  // Has it, or has `admin`, which includes `metrics` and `tenant:admin`.
  constexpr bool allows(Scope scope) const {
    return has(scope) || (has(Scope::kAdmin) && (scope == Scope::kMetrics || scope == Scope::kTenantAdmin));
  }
  // The first scope of `other` that it does not allow; nullopt: it allows all.
  std::optional<Scope> first_missing(ScopeSet other) const;
  constexpr void add(Scope scope) { bits_ |= bit(scope); }
  std::vector<std::string> names() const;
  friend constexpr bool operator==(ScopeSet, ScopeSet) = default;

 private:
  static constexpr std::uint32_t bit(Scope scope) { return 1U << static_cast<unsigned>(scope); }
  std::uint32_t bits_ = 0;
};

// The text of an API key: `mr_live_<8 id>_<43 base62>`. The id selects the row. The last kKeyChecksumChars
// are a checksum of all characters before them, so that typing errors cost no look-up and scanners recognise
// leaked keys; the other 37 are the secret (220 bits). Keys of older versions have 43 random characters.
inline constexpr std::size_t kKeyIdChars = 8;
inline constexpr std::size_t kKeySecretChars = 43;
inline constexpr std::size_t kKeyChecksumChars = 6;
std::string make_key_text();
// The id inside a well-formed key; nullopt: the text is not a well-formed key.
std::optional<std::string_view> key_id(std::string_view key_text);
// REQUIRES: the text is a well-formed key.
bool has_checksum(std::string_view key_text);

}  // namespace millrace::schemas

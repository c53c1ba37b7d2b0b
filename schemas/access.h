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
  kMetrics,  // only /metrics; `admin` includes it
  kAdmin,
};
inline constexpr std::size_t kScopeCount = static_cast<std::size_t>(Scope::kAdmin) + 1;
std::string_view name(Scope scope);  // "exec:run"
std::optional<Scope> scope_named(std::string_view name);

class ScopeSet {
 public:
  constexpr ScopeSet() = default;
  // The default scopes of a new key: everything within its tenant, so neither admin nor metrics.
  static ScopeSet of_a_new_key();
  static ScopeSet all();
  // kInvalidField names the unknown scope and the nearest valid one.
  static base::Result<ScopeSet> parse(const std::vector<std::string>& names);

  constexpr bool has(Scope scope) const { return (bits_ & bit(scope)) != 0; }
  constexpr bool has_all(ScopeSet other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr void add(Scope scope) { bits_ |= bit(scope); }
  std::vector<std::string> names() const;
  friend constexpr bool operator==(ScopeSet, ScopeSet) = default;

 private:
  static constexpr std::uint32_t bit(Scope scope) { return 1U << static_cast<unsigned>(scope); }
  std::uint32_t bits_ = 0;
};

// The text of an API key: `mr_live_<8 id>_<43 base62>`. The id selects the row; the rest is the secret (256
// bits).
inline constexpr std::size_t kKeyIdChars = 8;
inline constexpr std::size_t kKeySecretChars = 43;
std::string make_key_text();
// The id inside a well-formed key; nullopt: the text is not a well-formed key.
std::optional<std::string_view> key_id(std::string_view key_text);

}  // namespace millrace::schemas

#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/result.h"

namespace millrace::schemas {

// What a key may do (docs/design/http-contract.md §0).
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
  kMetrics,  // /metrics alone; `admin` has it, too
  kAdmin,
};
inline constexpr std::size_t kScopeCount = static_cast<std::size_t>(Scope::kAdmin) + 1;
std::string_view name(Scope scope);  // "exec:run"
std::optional<Scope> scope_named(std::string_view name);

class ScopeSet {
 public:
  constexpr ScopeSet() = default;
  // What a new key has unless it says otherwise: what is its tenant's own, so neither admin nor metrics.
  static ScopeSet of_a_new_key();
  static ScopeSet all();
  // kInvalidField names the unknown one and the nearest right one.
  static base::Result<ScopeSet> parse(const std::vector<std::string>& names);

  constexpr bool has(Scope scope) const { return (bits_ & bit(scope)) != 0; }
  constexpr void add(Scope scope) { bits_ |= bit(scope); }
  std::vector<std::string> names() const;
  friend constexpr bool operator==(ScopeSet, ScopeSet) = default;

 private:
  static constexpr std::uint32_t bit(Scope scope) { return 1U << static_cast<unsigned>(scope); }
  std::uint32_t bits_ = 0;
};

// The text of an API key: `mr_live_<8 id>_<43 base62>`. The id finds its row, the rest is the secret (256
// bits).
inline constexpr std::size_t kKeyIdChars = 8;
inline constexpr std::size_t kKeySecretChars = 43;
std::string make_key_text();
// The id inside a well-formed key; nullopt if it is not one.
std::optional<std::string_view> key_id(std::string_view key_text);

}  // namespace millrace::schemas

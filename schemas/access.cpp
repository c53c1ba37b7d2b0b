#include "schemas/access.h"

#include <algorithm>

#include "platform/base/ids.h"
#include "platform/base/nearest.h"

namespace millrace::schemas {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, kScopeCount> kNames{
    "models",     "chat",        "embeddings",    "images",         "audio",     "ocr",
    "exec:run",   "exec:read",   "ssh:issue",     "machines:write", "jobs:read", "jobs:write",
    "files:read", "files:write", "webhooks:read", "webhooks:write", "metrics",   "tenant:admin",
    "admin",
};

constexpr std::string_view kKeyPrefix = "mr_live_";
constexpr std::string_view kBase62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::size_t kKeyChars = kKeyPrefix.size() + kKeyIdChars + 1 + kKeySecretChars;

std::string all_names() {
  std::string names;
  for (const std::string_view each : kNames) names.append(names.empty() ? "" : ", ").append(each);
  return names;
}

constexpr std::array<bool, 256> base62_bytes() {
  std::array<bool, 256> out{};
  for (const char c : kBase62) out[static_cast<unsigned char>(c)] = true;
  return out;
}
constexpr std::array<bool, 256> kIsBase62 = base62_bytes();

bool all_base62(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return kIsBase62[static_cast<unsigned char>(c)]; });
}

// Uniformly distributed: bytes at or above the largest multiple of 62 are discarded.
std::string random_base62(std::size_t chars) {
  constexpr unsigned kFair = 256 / 62 * 62;
  std::string out;
  while (out.size() < chars) {
    for (char c : base::random_bytes(chars)) {
      const unsigned byte = static_cast<unsigned char>(c);
      if (byte < kFair && out.size() < chars) out += kBase62[byte % 62];
    }
  }
  return out;
}

// CRC-32 (IEEE 802.3).
std::uint32_t crc32(std::string_view text) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

// The CRC-32 in base62, the most significant digit first.
std::string checksum(std::string_view text) {
  std::string out(kKeyChecksumChars, kBase62.front());
  std::size_t rest = crc32(text);
  for (auto digit = out.rbegin(); digit != out.rend(); ++digit, rest /= kBase62.size())
    *digit = kBase62[rest % kBase62.size()];
  return out;
}

}  // namespace

std::string_view name(Scope scope) { return kNames[static_cast<std::size_t>(scope)]; }

std::optional<Scope> scope_named(std::string_view name) {
  const auto* at = std::find(kNames.begin(), kNames.end(), name);
  if (at == kNames.end()) return std::nullopt;
  return static_cast<Scope>(at - kNames.begin());
}

ScopeSet ScopeSet::all() {
  ScopeSet out;
  for (std::size_t i = 0; i < kScopeCount; ++i) out.add(static_cast<Scope>(i));
  return out;
}

ScopeSet ScopeSet::of_a_new_key() {
  ScopeSet out = all();
  out.bits_ &= ~(bit(Scope::kAdmin) | bit(Scope::kTenantAdmin) | bit(Scope::kMetrics));
  return out;
}

std::optional<Scope> ScopeSet::first_missing(ScopeSet other) const {
  for (std::size_t i = 0; i < kScopeCount; ++i) {
    const auto scope = static_cast<Scope>(i);
    if (other.has(scope) && !allows(scope)) return scope;
  }
  return std::nullopt;
}

base::Result<ScopeSet> ScopeSet::parse(const std::vector<std::string>& names) {
  ScopeSet out;
  for (const std::string& each : names) {
    const auto scope = scope_named(each);
    if (scope) {
      out.add(*scope);
      continue;
    }
    const std::string_view near = base::nearest(each, kNames);
    std::string message = "unknown scope '" + each + "'";
    if (!near.empty()) message.append("; did you mean '").append(near).append("'?");
    if (near.empty()) message.append("; there are ").append(all_names());
    return base::error(base::Code::kInvalidField, std::move(message), "scopes");
  }
  return out;
}

std::vector<std::string> ScopeSet::names() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < kScopeCount; ++i) {
    if (has(static_cast<Scope>(i))) out.emplace_back(kNames[i]);
  }
  return out;
}

std::string make_key_text() {
  std::string out(kKeyPrefix);
  out.append(random_base62(kKeyIdChars)).append("_");
  out.append(random_base62(kKeySecretChars - kKeyChecksumChars));
  return out.append(checksum(out));
}

bool has_checksum(std::string_view key_text) {
  const std::size_t end = key_text.size() - kKeyChecksumChars;
  return key_text.substr(end) == checksum(key_text.substr(0, end));
}

std::optional<std::string_view> key_id(std::string_view key_text) {
  if (key_text.size() != kKeyChars || !key_text.starts_with(kKeyPrefix)) return std::nullopt;
  const std::string_view id = key_text.substr(kKeyPrefix.size(), kKeyIdChars);
  const std::string_view secret = key_text.substr(kKeyPrefix.size() + kKeyIdChars + 1);
  if (key_text[kKeyPrefix.size() + kKeyIdChars] != '_') return std::nullopt;
  if (!all_base62(id) || !all_base62(secret)) return std::nullopt;
  return id;
}

}  // namespace millrace::schemas

#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::base {

using Sha256Digest = std::array<std::uint8_t, 32>;

Sha256Digest sha256(std::string_view bytes);
Sha256Digest hmac_sha256(std::string_view key, std::string_view message);
// HMAC-SHA-256 under one key, prepared once: four times faster for short messages. Thread-safe.
class HmacSha256 {
 public:
  explicit HmacSha256(std::string_view key);
  ~HmacSha256();
  HmacSha256(const HmacSha256&) = delete;
  HmacSha256& operator=(const HmacSha256&) = delete;
  Sha256Digest mac(std::string_view message) const;

 private:
  struct Prepared;
  std::unique_ptr<const Prepared> prepared_;
};

// Of a public key's bytes, as ssh-keygen prints it: "SHA256:" and base64 without padding.
std::string ssh_fingerprint(std::string_view key_blob);

bool equal_constant_time(std::string_view a, std::string_view b);

std::string hex(std::string_view bytes);
inline std::string hex(const Sha256Digest& d) {
  return hex(std::string_view(reinterpret_cast<const char*>(d.data()), d.size()));
}

// Sealed with AES-256-GCM under a key of 32 bytes, for `context` (say a job's id) alone: a random nonce, the
// bytes, the tag. Throws std::invalid_argument for a key of another size. `unseal`: nullopt when the key or
// the context is another or a bit has changed.
std::string seal(std::string_view key, std::string_view context, std::string_view plain);
std::optional<std::string> unseal(std::string_view key, std::string_view context, std::string_view sealed);

// SHA-256 of what arrives in pieces. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::string_view bytes);
  Sha256Digest finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

// A secret text (docs/design/security.md §7): it cannot be formatted, compared, logged or serialised, only
// revealed, which is done where it goes on a wire and nowhere else.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}

  bool empty() const { return text_.empty(); }
  const std::string& reveal() const { return text_; }

  template <class Stream>
  friend Stream& operator<<(Stream&, const Secret&) = delete;

 private:
  std::string text_;
};

}  // namespace millrace::base

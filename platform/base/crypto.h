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
// HMAC-SHA-256 with a fixed key whose state is prepared once. Four times faster for short messages.
// Thread-safe.
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

// Ed25519 (RFC 8032). `seed`: the 32 bytes of a private key; throws std::invalid_argument for another size.
// The public key has 32 bytes, a signature 64.
std::string ed25519_public_key(std::string_view seed);
std::string ed25519_sign(std::string_view seed, std::string_view message);

// The fingerprint of a public key as ssh-keygen prints it: "SHA256:" and base64 without padding.
std::string ssh_fingerprint(std::string_view key_blob);

bool equal_constant_time(std::string_view a, std::string_view b);

std::string hex(std::string_view bytes);
inline std::string hex(const Sha256Digest& d) {
  return hex(std::string_view(reinterpret_cast<const char*>(d.data()), d.size()));
}

// Encrypts with AES-256-GCM under a key of 32 bytes. `context` (for example a job's id) is authenticated too.
// The result is a random nonce, the ciphertext and the tag. Throws std::invalid_argument if the key has
// another size. `unseal` returns nullopt if the key or the context differs or if a bit has changed.
std::string seal(std::string_view key, std::string_view context, std::string_view plain);
std::optional<std::string> unseal(std::string_view key, std::string_view context, std::string_view sealed);

// Incremental SHA-256. Not thread-safe.
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

// A secret text (docs/design/security.md §7). It cannot be formatted, compared, logged or serialised. Call
// `reveal` only where the secret is sent.
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

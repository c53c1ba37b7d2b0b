#include "machines/ed25519_key.h"

#include <array>
#include <new>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "machines/openssh_file.h"
#include "machines/ssh_wire.h"

namespace millrace::machines {
namespace {

constexpr std::size_t kSignatureBytes = 64;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;

// OpenSSL fails at these only when memory is out.
void require(bool ok) {
  if (!ok) throw std::bad_alloc();
}

Key key_of(const Ed25519Seed& seed) {
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
  require(key != nullptr);
  return key;
}

std::string public_half(const Key& key) {
  std::string point(kEd25519PointBytes, '\0');
  std::size_t size = point.size();
  require(EVP_PKEY_get_raw_public_key(key.get(), reinterpret_cast<unsigned char*>(point.data()), &size) == 1);
  return point;
}

}  // namespace

struct Ed25519Key::Secret {
  explicit Secret(const Ed25519Seed& from) : seed(from), key(key_of(seed)) {}
  ~Secret() { OPENSSL_cleanse(seed.data(), seed.size()); }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;

  Ed25519Seed seed;
  Key key;
};

Ed25519Key::Ed25519Key(std::shared_ptr<const Secret> secret) : secret_(std::move(secret)) {
  public_key_.type = kEd25519Type;
  public_key_.blob = wire_strings({kEd25519Type, public_half(secret_->key)});
}

Ed25519Key Ed25519Key::make() {
  Ed25519Seed seed{};
  require(RAND_priv_bytes(seed.data(), static_cast<int>(seed.size())) == 1);
  auto secret = std::make_shared<const Secret>(seed);
  OPENSSL_cleanse(seed.data(), seed.size());
  return Ed25519Key(std::move(secret));
}

base::Result<Ed25519Key> Ed25519Key::from_file(std::string_view text, std::string_view place) {
  Ed25519FileKey read;
  const bool sound = read_openssh_file(text, read);
  auto secret = sound ? std::make_shared<const Secret>(read.seed) : nullptr;
  OPENSSL_cleanse(read.seed.data(), read.seed.size());
  if (!secret || public_half(secret->key) != read.point) {
    return base::error(
        base::Code::kInternal,
        std::string(place) +
            " is damaged, encrypted or no Ed25519 key of OpenSSH: put the right file back. If it "
            "is lost, move it away: a new key is made, and whoever trusts the old one must be "
            "told the new");
  }
  return Ed25519Key(std::move(secret));
}

std::string Ed25519Key::file() const { return openssh_file({secret_->seed, public_half(secret_->key)}); }

std::string Ed25519Key::sign(std::string_view message) const {
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  std::array<unsigned char, kSignatureBytes> signature{};
  std::size_t size = signature.size();
  require(context != nullptr &&
          EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, secret_->key.get()) == 1 &&
          EVP_DigestSign(context.get(), signature.data(), &size,
                         reinterpret_cast<const unsigned char*>(message.data()), message.size()) == 1);
  return wire_strings({kEd25519Type, {reinterpret_cast<const char*>(signature.data()), size}});
}

}  // namespace millrace::machines

// The state of SHA-256 is copied once per request. Only the functions that OpenSSL 3 deprecates allow that.
// Copying a context of the new API needs allocations and about 1,200 more instructions.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "platform/base/crypto.h"

#include <algorithm>
#include <array>
#include <climits>
#include <new>
#include <stdexcept>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "platform/base/base64.h"
#include "platform/base/ids.h"

namespace millrace::base {
namespace {

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

void require(bool ok) {
  if (!ok) throw std::runtime_error("an OpenSSL SHA-256 operation failed");
}

}  // namespace

namespace {

// SHA256() looks the digest up by name on each call, which takes longer than hashing a short text.
const EVP_MD* fetched_sha256() {
  static const EVP_MD* const digest = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return digest;
}

}  // namespace

Sha256Digest sha256(std::string_view bytes) {
  Sha256Digest out;
  require(EVP_Digest(raw(bytes), bytes.size(), out.data(), nullptr, fetched_sha256(), nullptr) == 1);
  return out;
}

Sha256Digest hmac_sha256(std::string_view key, std::string_view message) {
  Sha256Digest out;
  unsigned int size = 0;
  require(HMAC(EVP_sha256(), raw(key), static_cast<int>(key.size()), raw(message), message.size(), out.data(),
               &size) != nullptr);
  return out;
}

namespace {

constexpr std::size_t kBlockBytes = 64;

}  // namespace

// The state of both hashes of RFC 2104 after the first block, which depends only on the key.
struct HmacSha256::Prepared {
  SHA256_CTX inner{}, outer{};

  ~Prepared() { OPENSSL_cleanse(this, sizeof *this); }

  static void begin(SHA256_CTX& context, std::string_view key, char pad) {
    std::array<char, kBlockBytes> block{};
    std::copy(key.begin(), key.end(), block.begin());
    for (char& c : block) c = static_cast<char>(c ^ pad);
    require(SHA256_Init(&context) == 1);
    require(SHA256_Update(&context, block.data(), block.size()) == 1);
    OPENSSL_cleanse(block.data(), block.size());
  }

  static Sha256Digest finish(SHA256_CTX context, std::string_view bytes) {
    Sha256Digest out;
    require(SHA256_Update(&context, bytes.data(), bytes.size()) == 1);
    require(SHA256_Final(out.data(), &context) == 1);
    OPENSSL_cleanse(&context, sizeof context);
    return out;
  }
};

HmacSha256::HmacSha256(std::string_view key) {
  const Sha256Digest hashed = sha256(key);
  if (key.size() > kBlockBytes) key = {reinterpret_cast<const char*>(hashed.data()), hashed.size()};
  auto prepared = std::make_unique<Prepared>();
  prepared->begin(prepared->inner, key, 0x36);
  prepared->begin(prepared->outer, key, 0x5c);
  prepared_ = std::move(prepared);
}
HmacSha256::~HmacSha256() = default;

Sha256Digest HmacSha256::mac(std::string_view message) const {
  const Sha256Digest inner = Prepared::finish(prepared_->inner, message);
  return Prepared::finish(prepared_->outer, {reinterpret_cast<const char*>(inner.data()), inner.size()});
}

namespace {

constexpr std::size_t kSeedBytes = 32, kPublicKeyBytes = 32, kSignatureBytes = 64;

void require_ed25519(bool ok) {
  if (!ok) throw std::runtime_error("an OpenSSL Ed25519 operation failed");
}

struct FreePrivateKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using PrivateKey = std::unique_ptr<EVP_PKEY, FreePrivateKey>;

PrivateKey private_key(std::string_view seed) {
  if (seed.size() != kSeedBytes) throw std::invalid_argument("an Ed25519 seed must have 32 bytes");
  PrivateKey key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, raw(seed), seed.size()));
  require_ed25519(key != nullptr);
  return key;
}

}  // namespace

std::string ed25519_public_key(std::string_view seed) {
  const PrivateKey key = private_key(seed);
  std::string out(kPublicKeyBytes, '\0');
  std::size_t size = out.size();
  require_ed25519(
      EVP_PKEY_get_raw_public_key(key.get(), reinterpret_cast<unsigned char*>(out.data()), &size) == 1);
  return out;
}

std::string ed25519_sign(std::string_view seed, std::string_view message) {
  const PrivateKey key = private_key(seed);
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::string out(kSignatureBytes, '\0');
  std::size_t size = out.size();
  require_ed25519(context != nullptr &&
                  EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1);
  require_ed25519(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                                 raw(message), message.size()) == 1);
  return out;
}

std::string ssh_fingerprint(std::string_view key_blob) {
  const Sha256Digest digest = sha256(key_blob);
  std::string text = base64_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
  text.erase(text.find_last_not_of('=') + 1);
  return "SHA256:" + text;
}

bool equal_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out(bytes.size() * 2, '0');
  char* to = out.data();
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    *to++ = kDigits[byte >> 4];
    *to++ = kDigits[byte & 15];
  }
  return out;
}

namespace {

constexpr std::size_t kSealKeyBytes = 32, kNonceBytes = 12, kTagBytes = 16;

struct CipherContext {
  EVP_CIPHER_CTX* handle = EVP_CIPHER_CTX_new();
  CipherContext() {
    if (handle == nullptr) throw std::bad_alloc();
  }
  ~CipherContext() { EVP_CIPHER_CTX_free(handle); }
  CipherContext(const CipherContext&) = delete;
  CipherContext& operator=(const CipherContext&) = delete;
};

void require_cipher(bool ok) {
  if (!ok) throw std::runtime_error("an OpenSSL AES-256-GCM operation failed");
}

unsigned char* writable(std::string& bytes, std::size_t at) {
  return reinterpret_cast<unsigned char*>(bytes.data()) + at;
}

// Calls EVP_EncryptUpdate or EVP_DecryptUpdate. If `out` is null, `in` is authenticated but not encrypted.
template <class Update>
void feed(Update update, const CipherContext& cipher, unsigned char* out, std::string_view in) {
  int size = 0;
  require_cipher(in.size() <= std::size_t{INT_MAX});
  if (!in.empty())
    require_cipher(update(cipher.handle, out, &size, raw(in), static_cast<int>(in.size())) == 1);
}

}  // namespace

std::string seal(std::string_view key, std::string_view context, std::string_view plain) {
  if (key.size() != kSealKeyBytes) throw std::invalid_argument("a sealing key must have 32 bytes");
  const CipherContext cipher;
  std::string out = random_bytes(kNonceBytes);
  out.resize(kNonceBytes + plain.size() + kTagBytes);
  int size = 0;
  require_cipher(EVP_EncryptInit_ex(cipher.handle, EVP_aes_256_gcm(), nullptr, raw(key), writable(out, 0)) ==
                 1);
  feed(EVP_EncryptUpdate, cipher, nullptr, context);
  feed(EVP_EncryptUpdate, cipher, writable(out, kNonceBytes), plain);
  const std::size_t tag_at = kNonceBytes + plain.size();
  require_cipher(EVP_EncryptFinal_ex(cipher.handle, writable(out, tag_at), &size) == 1);
  require_cipher(EVP_CIPHER_CTX_ctrl(cipher.handle, EVP_CTRL_GCM_GET_TAG, static_cast<int>(kTagBytes),
                                     writable(out, tag_at)) == 1);
  return out;
}

std::optional<std::string> unseal(std::string_view key, std::string_view context, std::string_view sealed) {
  if (key.size() != kSealKeyBytes || sealed.size() < kNonceBytes + kTagBytes) return std::nullopt;
  const CipherContext cipher;
  const std::string_view body = sealed.substr(kNonceBytes, sealed.size() - kNonceBytes - kTagBytes);
  std::string tag(sealed.substr(sealed.size() - kTagBytes));
  std::string plain(body.size(), '\0');
  int size = 0;
  require_cipher(EVP_DecryptInit_ex(cipher.handle, EVP_aes_256_gcm(), nullptr, raw(key), raw(sealed)) == 1);
  feed(EVP_DecryptUpdate, cipher, nullptr, context);
  feed(EVP_DecryptUpdate, cipher, writable(plain, 0), body);
  require_cipher(EVP_CIPHER_CTX_ctrl(cipher.handle, EVP_CTRL_GCM_SET_TAG, static_cast<int>(kTagBytes),
                                     writable(tag, 0)) == 1);
  if (EVP_DecryptFinal_ex(cipher.handle, writable(tag, 0), &size) == 1) return plain;
  OPENSSL_cleanse(plain.data(), plain.size());
  return std::nullopt;
}

struct Sha256::Context {
  EVP_MD_CTX* handle = EVP_MD_CTX_new();
  Context() { require(handle != nullptr && EVP_DigestInit_ex(handle, EVP_sha256(), nullptr) == 1); }
  ~Context() { EVP_MD_CTX_free(handle); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::string_view bytes) {
  require(EVP_DigestUpdate(context_->handle, bytes.data(), bytes.size()) == 1);
}

Sha256Digest Sha256::finish() {
  Sha256Digest out;
  unsigned int size = 0;
  require(EVP_DigestFinal_ex(context_->handle, out.data(), &size) == 1);
  return out;
}

}  // namespace millrace::base

#include "platform/base/crypto.h"

#include <stdexcept>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

namespace millrace::base {
namespace {

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

void require(bool ok) {
  if (!ok) throw std::runtime_error("OpenSSL refused a SHA-256 operation");
}

}  // namespace

Sha256Digest sha256(std::string_view bytes) {
  Sha256Digest out;
  require(SHA256(raw(bytes), bytes.size(), out.data()) != nullptr);
  return out;
}

Sha256Digest hmac_sha256(std::string_view key, std::string_view message) {
  Sha256Digest out;
  unsigned int size = 0;
  require(HMAC(EVP_sha256(), raw(key), static_cast<int>(key.size()), raw(message), message.size(), out.data(),
               &size) != nullptr);
  return out;
}

bool equal_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
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

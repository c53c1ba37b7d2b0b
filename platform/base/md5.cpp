#include "platform/base/md5.h"

#include <array>
#include <stdexcept>

#include <openssl/evp.h>

#include "platform/base/crypto.h"

namespace millrace::base {
namespace {

constexpr std::size_t kMd5Bytes = 16;

void require_md5(bool ok) {
  if (!ok) throw std::runtime_error("an OpenSSL MD5 operation failed");
}

}  // namespace

struct Md5::Context {
  EVP_MD_CTX* handle = EVP_MD_CTX_new();
  Context() { require_md5(handle != nullptr && EVP_DigestInit_ex(handle, EVP_md5(), nullptr) == 1); }
  ~Context() { EVP_MD_CTX_free(handle); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

Md5::Md5() : context_(std::make_unique<Context>()) {}
Md5::~Md5() = default;

void Md5::update(std::string_view bytes) {
  require_md5(EVP_DigestUpdate(context_->handle, bytes.data(), bytes.size()) == 1);
}

std::string Md5::finish() {
  std::array<unsigned char, kMd5Bytes> digest{};
  require_md5(EVP_DigestFinal_ex(context_->handle, digest.data(), nullptr) == 1);
  return hex(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size()));
}

}  // namespace millrace::base

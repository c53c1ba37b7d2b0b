#include "machines/keys/ed25519_key.h"

#include <algorithm>
#include <array>
#include <new>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "machines/keys/ssh_wire.h"
#include "platform/base/base64.h"
#include "platform/base/ids.h"

namespace millrace::machines {
namespace {

constexpr std::string_view kBegin = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
constexpr std::string_view kEnd = "-----END OPENSSH PRIVATE KEY-----\n";
constexpr std::string_view kFileMagic{"openssh-key-v1\0", 15};
constexpr std::size_t kLineCharacters = 70;
constexpr std::size_t kBlockBytes = 8;  // block size of the cipher "none"

std::string_view text_of(const Ed25519Seed& seed) {
  return {reinterpret_cast<const char*>(seed.data()), seed.size()};
}

// The part that would be encrypted: two equal random numbers, the key, a comment, and the padding 1, 2, 3, …
std::string private_part(const Ed25519FileKey& key) {
  const std::string check = base::random_bytes(4);
  std::string both(text_of(key.seed));
  const WipedAtEnd wipe(both);
  both.append(key.point);
  WireWriter part;
  part.raw(check).raw(check).string(kEd25519Type).string(key.point).string(both).string("");
  for (std::uint8_t pad = 1; part.bytes().size() % kBlockBytes != 0; ++pad) part.u8(pad);
  return part.take();
}

// The characters of the body without line ends. Empty: it is not such a file.
std::string body_of(std::string_view text) {
  if (text.substr(0, kBegin.size()) != kBegin) return {};
  const std::size_t end = text.find(kEnd);
  if (end == std::string_view::npos || end < kBegin.size()) return {};
  std::string body(text.substr(kBegin.size(), end - kBegin.size()));
  body.erase(std::remove_if(body.begin(), body.end(), [](char c) { return c == '\n' || c == '\r'; }),
             body.end());
  return body;
}

bool read_private_part(WireReader part, std::string_view public_blob, Ed25519FileKey& key) {
  const auto first = part.u32(), second = part.u32();
  const auto type = part.string(), point = part.string(), both = part.string();
  const bool whole =
      both && part.string().has_value() && first == second && *type == kEd25519Type &&
      point->size() == kEd25519PointBytes && both->size() == key.seed.size() + kEd25519PointBytes &&
      both->substr(key.seed.size()) == *point && public_blob == wire_strings({kEd25519Type, *point});
  if (!whole) return false;
  std::copy_n(both->begin(), key.seed.size(), reinterpret_cast<char*>(key.seed.data()));
  key.point = *point;
  return true;
}

bool read_bytes(std::string_view bytes, Ed25519FileKey& key) {
  WireReader file(bytes);
  if (file.raw(kFileMagic.size()) != kFileMagic) return false;
  const auto cipher = file.string(), derivation = file.string(), options = file.string();
  const auto keys = file.u32();
  const auto public_blob = file.string(), part = file.string();
  const bool plain = part && cipher == "none" && derivation == "none" && options == "" && keys == 1U;
  return plain && file.at_end() && read_private_part(WireReader(*part), *public_blob, key);
}

}  // namespace

std::string openssh_file(const Ed25519FileKey& key) {
  std::string part = private_part(key);
  const WipedAtEnd wipe_part(part);
  WireWriter writer;
  writer.raw(kFileMagic).string("none").string("none").string("").u32(1);
  writer.string(wire_strings({kEd25519Type, key.point})).string(part);
  std::string bytes = writer.take();
  const WipedAtEnd wipe_bytes(bytes);
  std::string body = base::base64_encode(bytes);
  const WipedAtEnd wipe_body(body);
  std::string text;
  text.reserve(kBegin.size() + body.size() + body.size() / kLineCharacters + 1 + kEnd.size());
  text.append(kBegin);
  for (std::size_t at = 0; at < body.size(); at += kLineCharacters) {
    text.append(body, at, kLineCharacters).push_back('\n');
  }
  return text.append(kEnd);
}

bool read_openssh_file(std::string_view text, Ed25519FileKey& key) {
  std::string body = body_of(text);
  const WipedAtEnd wipe_body(body);
  auto bytes = base::base64_decode(body);
  if (body.empty() || !bytes) return false;
  const WipedAtEnd wipe_bytes(*bytes);
  return read_bytes(*bytes, key);
}

namespace {

constexpr std::size_t kSignatureBytes = 64;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;

// These OpenSSL calls fail only when memory is exhausted.
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
            " is damaged, encrypted or not an OpenSSH Ed25519 key: restore the right file. If it is "
            "lost, move this file away: a new key is created, and hosts that trust the old key "
            "must be given the new one");
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

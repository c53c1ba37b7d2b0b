#include "api/webhooks/webhook_signature.h"

#include "platform/base/base64.h"
#include "platform/base/crypto.h"
#include "platform/base/ids.h"

namespace millrace::api {
namespace {

std::string seal_context(const std::string& endpoint) { return "webhook " + endpoint; }

}  // namespace

WebhookKeys WebhookKeys::make() {
  return {.hmac_key = base::random_bytes(kHmacKeyBytes), .seed = base::random_bytes(kEd25519SeedBytes)};
}

std::string WebhookKeys::public_key() const { return base::ed25519_public_key(seed); }

std::string seal_keys(const std::string& secret_key, const std::string& endpoint, const WebhookKeys& keys) {
  return base::seal(secret_key, seal_context(endpoint), keys.hmac_key + keys.seed);
}

std::optional<WebhookKeys> unseal_keys(const std::string& secret_key, const std::string& endpoint,
                                       std::string_view sealed) {
  const auto plain = base::unseal(secret_key, seal_context(endpoint), sealed);
  if (!plain || plain->size() != kHmacKeyBytes + kEd25519SeedBytes) return std::nullopt;
  return WebhookKeys{.hmac_key = plain->substr(0, kHmacKeyBytes), .seed = plain->substr(kHmacKeyBytes)};
}

std::string webhook_signatures(const WebhookKeys& keys, const SignedMessage& message) {
  std::string text(message.id);
  text.append(".").append(std::to_string(message.timestamp)).append(".").append(message.body);
  const base::Sha256Digest mac = base::hmac_sha256(keys.hmac_key, text);
  const std::string_view mac_bytes(reinterpret_cast<const char*>(mac.data()), mac.size());
  return "v1," + base::base64_encode(mac_bytes) + " v1a," +
         base::base64_encode(base::ed25519_sign(keys.seed, text));
}

}  // namespace millrace::api

#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Standard Webhooks (https://github.com/standard-webhooks/standard-webhooks): how a webhook is signed.
namespace millrace::api {

inline constexpr std::size_t kHmacKeyBytes = 32;
inline constexpr std::size_t kEd25519SeedBytes = 32;

// The secret of an endpoint: the key of `v1` (HMAC-SHA-256) and the seed of `v1a` (Ed25519).
struct WebhookKeys {
  std::string hmac_key;
  std::string seed;

  static WebhookKeys make();  // random
  std::string public_key() const;
};

// Encrypted under secret.key and bound to the endpoint's id. nullopt: it was sealed with another secret.key.
std::string seal_keys(const std::string& secret_key, const std::string& endpoint, const WebhookKeys& keys);
std::optional<WebhookKeys> unseal_keys(const std::string& secret_key, const std::string& endpoint,
                                       std::string_view sealed);

// What is signed: the values of `webhook-id` and `webhook-timestamp`, and the body.
struct SignedMessage {
  std::string_view id;
  std::int64_t timestamp = 0;  // Unix seconds
  std::string_view body;
};
// "v1,BASE64 v1a,BASE64": the signatures of one secret in the header `webhook-signature`.
std::string webhook_signatures(const WebhookKeys& keys, const SignedMessage& message);

}  // namespace millrace::api

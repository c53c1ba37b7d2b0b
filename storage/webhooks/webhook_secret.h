#pragma once
#include <string>

namespace millrace::storage {

// The secrets of an endpoint: sealed (api/webhooks/webhook_signature.h), and the public key among them.
struct WebhookSecret {
  std::string sealed;
  std::string public_key;
};

}  // namespace millrace::storage

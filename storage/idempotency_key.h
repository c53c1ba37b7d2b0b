#pragma once
#include <string>

#include "platform/base/crypto.h"

namespace millrace::storage {

// (tenant, method, path, key) identifies what a request created. `fingerprint` is a hash of the raw body
// (docs/design/delivery.md, Idempotency-Key).
struct IdempotencyKey {
  std::string method, path, key;
  base::Sha256Digest fingerprint{};
};

}  // namespace millrace::storage

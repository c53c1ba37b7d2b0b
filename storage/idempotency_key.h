#pragma once
#include <string>

#include "platform/base/crypto.h"

namespace millrace::storage {

// (tenant, method, path, key) → what it made. `fingerprint` is over the raw body (delivery.md,
// Idempotency-Key).
struct IdempotencyKey {
  std::string method, path, key;
  base::Sha256Digest fingerprint{};
};

}  // namespace millrace::storage

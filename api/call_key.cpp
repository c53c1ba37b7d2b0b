#include "api/call_key.h"

#include <string>
#include <utility>

#include "api/headers.h"

namespace millrace::api {

base::Result<std::optional<storage::IdempotencyKey>> optional_key(
    Call& call, const std::function<base::Sha256Digest()>& fingerprint) {
  auto key = idempotency_key(call.head());
  if (!key) return key.error();
  if (!*key) return std::optional<storage::IdempotencyKey>();
  return storage::IdempotencyKey{.method = std::string(name(call.route->method)),
                                 .path = call.canonical_path.empty() ? call.head().path : call.canonical_path,
                                 .key = std::move(**key),
                                 .fingerprint = fingerprint()};
}

base::Result<std::optional<storage::IdempotencyKey>> optional_key(Call& call) {
  return optional_key(call, [&call] { return base::sha256(call.body()); });
}

}  // namespace millrace::api

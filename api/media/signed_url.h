#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/call.h"
#include "api/context.h"
#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "schemas/field.h"

// Signed URLs: whoever has one may read one object, without a key, until it expires.
namespace millrace::api {

// What the URL is for; one for an image is none for a file.
enum class SignedThing : std::uint8_t { kImage, kFile };

// The parts of a signed URL: …/{id}?expires&sig
struct SignedUrl {
  std::string id, expires, signature;
};
// Fills the last two.
std::span<const schemas::Field> signed_url_fields();

// "expires=…&sig=…". `secret_key`: DATA/secret.key.
std::string signed_query(SignedThing thing, const base::Uuid& id, base::WallTime expires,
                         std::string_view secret_key);
// nullopt: the signature is invalid, or the URL has expired.
std::optional<base::Uuid> checked_id(SignedThing thing, const SignedUrl& url, std::string_view secret_key,
                                     base::WallTime now);

// "https://gateway.example.com", as the client names it: URLs of replies are absolute if possible, because
// clients use them unchanged. Empty: not known.
std::string public_base(const Context& context, const Call& call);

}  // namespace millrace::api

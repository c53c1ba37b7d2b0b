#include "api/media/signed_url.h"

#include <array>
#include <charconv>
#include <chrono>

#include "platform/base/crypto.h"

namespace millrace::api {
namespace {

using std::chrono::seconds;

std::string_view key_label(SignedThing thing) {
  return thing == SignedThing::kImage ? "signed image URLs" : "signed file URLs";
}

std::string signature_of(SignedThing thing, std::string_view id, std::string_view expires,
                         std::string_view secret_key) {
  const base::Sha256Digest key = base::hmac_sha256(secret_key, key_label(thing));
  const std::string_view key_bytes(reinterpret_cast<const char*>(key.data()), key.size());
  return base::hex(base::hmac_sha256(key_bytes, std::string(id).append("\n").append(expires)));
}

constexpr std::array kSignedFields{
    schemas::Field{.name = "expires",
                   .text = "Expiry of the URL in Unix seconds; part of the signed URL",
                   .max = 20,
                   .store = &schemas::store_in<SignedUrl, &SignedUrl::expires>},
    schemas::Field{.name = "sig",
                   .text = "Signature; part of the signed URL",
                   .max = 128,
                   .store = &schemas::store_in<SignedUrl, &SignedUrl::signature>},
};

}  // namespace

std::span<const schemas::Field> signed_url_fields() { return kSignedFields; }

std::string signed_query(SignedThing thing, const base::Uuid& id, base::WallTime expires,
                         std::string_view secret_key) {
  const std::string at =
      std::to_string(std::chrono::duration_cast<seconds>(expires.time_since_epoch()).count());
  return "expires=" + at + "&sig=" + signature_of(thing, id.str(), at, secret_key);
}

std::optional<base::Uuid> checked_id(SignedThing thing, const SignedUrl& url, std::string_view secret_key,
                                     base::WallTime now) {
  const std::string right = signature_of(thing, url.id, url.expires, secret_key);
  if (!base::equal_constant_time(right, url.signature)) return std::nullopt;
  std::int64_t expires = 0;
  const char* const end = url.expires.data() + url.expires.size();
  const auto read = std::from_chars(url.expires.data(), end, expires);
  const bool over = read.ec != std::errc{} || read.ptr != end || now >= base::WallTime(seconds(expires));
  return over ? std::nullopt : base::Uuid::parse(url.id);
}

// The guard has checked the Host.
std::string public_base(const Context& context, const Call& call) {
  if (!context.options.public_url.empty()) return context.options.public_url;
  const front::Head& head = call.head();
  std::string_view scheme = "http", host = head.header("host").value_or("");
  if (head.from_proxy) {
    if (head.header("x-forwarded-proto") == "https") scheme = "https";
    const std::string_view named = head.header("x-forwarded-host").value_or("");
    if (context.hosts.contains(named)) host = named;
  }
  return host.empty() ? std::string() : std::string(scheme).append("://").append(host);
}

}  // namespace millrace::api

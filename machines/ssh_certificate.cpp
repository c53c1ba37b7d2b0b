#include "machines/ssh_certificate.h"

#include <algorithm>

#include "machines/public_key_blob.h"
#include "machines/ssh_wire.h"
#include "platform/base/base64.h"
#include "platform/base/ids.h"

namespace millrace::machines {
namespace {

constexpr std::uint32_t kUser = 1, kHost = 2;
constexpr std::size_t kNonceBytes = 32;

struct Fields {
  const PublicKey& key;
  std::uint32_t purpose;
  std::uint64_t serial;
  const std::string& key_id;
  std::string principals;
  base::WallTime valid_from, valid_until;
  std::string extensions;
};

std::uint64_t seconds(base::WallTime time) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(base::millis(time), 0) / 1000);
}

// The fields of the key, without its type.
std::string_view key_fields(const PublicKey& key) {
  WireReader fields(key.blob);
  fields.string();
  return fields.rest();
}

std::string line_of(const Ed25519Key& ca, const Fields& fields) {
  const std::string type = certificate_type(fields.key.type);
  WireWriter body;
  body.string(type).string(base::random_bytes(kNonceBytes)).raw(key_fields(fields.key));
  body.u64(fields.serial).u32(fields.purpose).string(fields.key_id).string(fields.principals);
  body.u64(seconds(fields.valid_from)).u64(seconds(fields.valid_until));
  body.string("").string(fields.extensions).string("").string(ca.public_key().blob);
  body.string(ca.sign(body.bytes()));
  return type + " " + base::base64_encode(body.bytes());
}

}  // namespace

std::string signed_certificate(const Ed25519Key& ca, const UserCertificate& certificate) {
  return line_of(ca, {certificate.key, kUser, certificate.serial, certificate.key_id,
                      wire_strings({certificate.principal}), certificate.valid_from, certificate.valid_until,
                      certificate.pty ? wire_strings({"permit-pty", ""}) : ""});
}

std::string signed_certificate(const Ed25519Key& ca, const HostCertificate& certificate) {
  WireWriter names;
  for (const std::string& name : certificate.names) names.string(name);
  if (certificate.names.empty()) names.string("");
  return line_of(ca, {certificate.key, kHost, certificate.serial, certificate.key_id, names.take(),
                      certificate.valid_from, certificate.valid_until, ""});
}

}  // namespace millrace::machines

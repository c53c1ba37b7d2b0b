#include "machines/keys/ssh_certificate.h"

#include <algorithm>

#include "machines/keys/public_key.h"
#include "machines/keys/ssh_wire.h"
#include "platform/base/base64.h"
#include "platform/base/ids.h"

namespace millrace::machines {
namespace {

constexpr std::uint64_t kListMagic = 0x5353484b524c0a00;  // "SSHKRL\n\0"
constexpr std::uint32_t kFormat = 1;
constexpr std::uint8_t kCertificates = 1;
constexpr std::uint8_t kSerialList = 0x20, kSerialRange = 0x21;

// Encodes single serials and runs of serials in two kinds of sections.
std::string sections_of(const std::vector<std::uint64_t>& serials) {
  WireWriter sections, singles;
  for (std::size_t at = 0; at < serials.size();) {
    std::size_t last = at;
    while (last + 1 < serials.size() && serials[last + 1] == serials[last] + 1) ++last;
    if (last == at) {
      singles.u64(serials[at]);
    } else {
      sections.u8(kSerialRange).string(WireWriter().u64(serials[at]).u64(serials[last]).bytes());
    }
    at = last + 1;
  }
  if (!singles.bytes().empty()) sections.u8(kSerialList).string(singles.bytes());
  return sections.take();
}

}  // namespace

std::string key_revocation_list(std::string_view ca, std::vector<std::uint64_t> serials,
                                std::uint64_t version, base::WallTime now) {
  std::sort(serials.begin(), serials.end());
  serials.erase(std::unique(serials.begin(), serials.end()), serials.end());
  if (!serials.empty() && serials.front() == 0) serials.erase(serials.begin());
  const auto seconds = static_cast<std::uint64_t>(std::max<std::int64_t>(base::millis(now), 0) / 1000);
  WireWriter list;
  list.u64(kListMagic).u32(kFormat).u64(version).u64(seconds).u64(0).string("").string("millrace");
  if (serials.empty()) return list.take();
  WireWriter section;
  section.string(ca).string("").raw(sections_of(serials));
  list.u8(kCertificates).string(section.bytes());
  return list.take();
}

std::optional<std::uint64_t> revocation_list_version(std::string_view head) {
  WireReader list(head);
  if (list.u64() != kListMagic || list.u32() != kFormat) return std::nullopt;
  return list.u64();
}

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

// The fields of the key without its type.
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

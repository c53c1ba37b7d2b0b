#include "machines/keys/public_key.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>

#include "machines/keys/ssh_wire.h"
#include "platform/base/base64.h"
#include "platform/base/crypto.h"

namespace millrace::machines {
namespace {

constexpr std::size_t kEd25519Bytes = 32;
constexpr int kRsaBitsMin = 3072, kRsaBitsMax = 16'384;
constexpr int kRsaExponentBitsMax = 64;  // OpenSSL does not verify with a longer exponent
constexpr std::size_t kApplicationMax = 255;
constexpr std::string_view kVendor = "@openssh.com";
constexpr char kUncompressed = 4;

using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
using Fault = std::optional<std::string>;  // what is wrong with the fields

struct Curve {
  std::string_view name;
  int nid;
  std::size_t coordinate_bytes;
};
constexpr std::array<Curve, 3> kCurves{{{"nistp256", NID_X9_62_prime256v1, 32},
                                        {"nistp384", NID_secp384r1, 48},
                                        {"nistp521", NID_secp521r1, 66}}};

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Fault damaged() { return "is damaged"; }

// Reads a positive number in its canonical form: no sign bit and no unnecessary leading zeros.
Number positive(WireReader& fields) {
  const auto bytes = fields.string();
  if (!bytes || bytes->empty() || bytes->size() > kRsaBitsMax / 8 * 2 || (bytes->front() & 0x80) != 0) {
    return {nullptr, BN_free};
  }
  const bool needless = bytes->front() == 0 && (bytes->size() == 1 || ((*bytes)[1] & 0x80) == 0);
  if (needless) return {nullptr, BN_free};
  return {BN_bin2bn(raw(*bytes), static_cast<int>(bytes->size()), nullptr), BN_free};
}

Fault rsa_fault(WireReader& fields) {
  const Number exponent = positive(fields);
  const Number modulus = exponent ? positive(fields) : Number(nullptr, BN_free);
  if (!modulus || BN_is_odd(modulus.get()) == 0) return damaged();
  const int bits = BN_num_bits(modulus.get());
  if (bits < kRsaBitsMin) return "is an RSA key of " + std::to_string(bits) + " bits: the minimum is 3072";
  if (bits > kRsaBitsMax) return "is an RSA key of " + std::to_string(bits) + " bits: the maximum is 16384";
  const bool sound = BN_is_odd(exponent.get()) != 0 && BN_is_one(exponent.get()) == 0 &&
                     BN_num_bits(exponent.get()) <= kRsaExponentBitsMax;
  return sound ? Fault() : Fault("is an RSA key with an unsupported exponent");
}

Fault ed25519_fault(WireReader& fields) {
  const auto point = fields.string();
  return point && point->size() == kEd25519Bytes ? Fault() : damaged();
}

bool on_curve(const Curve& curve, std::string_view point) {
  const std::unique_ptr<EC_GROUP, decltype(&EC_GROUP_free)> group(EC_GROUP_new_by_curve_name(curve.nid),
                                                                  EC_GROUP_free);
  if (!group) return false;
  const std::unique_ptr<EC_POINT, decltype(&EC_POINT_free)> place(EC_POINT_new(group.get()), EC_POINT_free);
  return place && EC_POINT_oct2point(group.get(), place.get(), raw(point), point.size(), nullptr) == 1 &&
         EC_POINT_is_on_curve(group.get(), place.get(), nullptr) == 1;
}

Fault ecdsa_fault(WireReader& fields, std::string_view curve_name) {
  const auto curve = std::find_if(kCurves.begin(), kCurves.end(),
                                  [&](const Curve& known) { return known.name == curve_name; });
  const auto named = fields.string();
  const auto point = named ? fields.string() : std::nullopt;
  if (curve == kCurves.end() || !point || *named != curve_name) return damaged();
  const bool shaped = point->size() == 1 + 2 * curve->coordinate_bytes && point->front() == kUncompressed;
  return shaped && on_curve(*curve, *point) ? Fault() : Fault("is damaged: its point is not on the curve");
}

// Checks the application of a security key, usually "ssh:".
Fault application_fault(WireReader& fields) {
  const auto application = fields.string();
  const bool sound = application && !application->empty() && application->size() <= kApplicationMax &&
                     std::none_of(application->begin(), application->end(),
                                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  return sound ? Fault() : damaged();
}

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

// The reason why a type is rejected.
std::string refusal_of(std::string_view type) {
  if (type == "ssh-dss") return "is a DSA key, which OpenSSH no longer supports";
  if (ends_with(type, "-cert-v01@openssh.com") || ends_with(type, "-cert-v00@openssh.com")) {
    return "is a certificate: send the key that it certifies";
  }
  return "has an unsupported type";
}

Fault fields_fault(std::string_view type, WireReader& fields) {
  constexpr std::string_view kEcdsa = "ecdsa-sha2-";
  if (type == "ssh-ed25519") return ed25519_fault(fields);
  if (type == "ssh-rsa") return rsa_fault(fields);
  if (type == "sk-ssh-ed25519@openssh.com") {
    const Fault fault = ed25519_fault(fields);
    return fault ? fault : application_fault(fields);
  }
  if (type == "sk-ecdsa-sha2-nistp256@openssh.com") {
    const Fault fault = ecdsa_fault(fields, "nistp256");
    return fault ? fault : application_fault(fields);
  }
  for (const Curve& curve : kCurves) {
    if (type == std::string(kEcdsa).append(curve.name)) return ecdsa_fault(fields, curve.name);
  }
  return refusal_of(type);
}

}  // namespace

base::Error refused_key(std::string_view what) {
  return base::error(base::Code::kInvalidField,
                     "the key " + std::string(what) +
                         "; send the one line of a public key file, as `ssh-keygen -t ed25519` makes it "
                         "(id_ed25519.pub): ed25519, ecdsa, rsa of 3072 bits or more, or their sk- forms",
                     "public_key");
}

base::Result<std::string> public_key_type(std::string_view blob) {
  WireReader fields(blob);
  const auto type = fields.string();
  if (!type) return refused_key("is damaged");
  if (const Fault fault = fields_fault(*type, fields)) return refused_key(*fault);
  if (!fields.at_end()) return refused_key("is damaged: there is data after its last field");
  return std::string(*type);
}

std::string certificate_type(std::string_view type) {
  if (ends_with(type, kVendor)) type.remove_suffix(kVendor.size());
  return std::string(type) + "-cert-v01@openssh.com";
}

namespace {

constexpr std::size_t kKeyLineMax = std::size_t{16} << 10;  // the line of a 16,384-bit key has 2.8 KB
constexpr std::string_view kSpaces = " \t";

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

// Removes spaces and line ends at both sides.
std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kAround = " \t\r\n";
  const std::size_t begin = line.find_first_not_of(kAround);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kAround) - begin + 1);
}

// Removes the first word and the spaces after it, and returns the word.
std::string_view take_field(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find_first_of(kSpaces));
  line.remove_prefix(word.size());
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(kSpaces)));
  return word;
}

bool names_a_key(std::string_view word) {
  constexpr std::string_view kBegins[] = {"ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-", "rsa-sha2-"};
  return word.find_first_of("=,\"") == std::string_view::npos &&
         std::any_of(std::begin(kBegins), std::end(kBegins),
                     [&](std::string_view begin) { return word.substr(0, begin.size()) == begin; });
}

// True if `rest` contains a type followed by the beginning of base64 data. All keys begin with a small
// four-byte length, hence with "AAAA".
bool holds_key(std::string_view rest) {
  while (!rest.empty()) {
    if (names_a_key(take_field(rest)) && rest.substr(0, 4) == "AAAA") return true;
  }
  return false;
}

bool is_private(std::string_view line) { return line.find("PRIVATE KEY") != std::string_view::npos; }

// What is wrong with the line as a whole. Empty: nothing.
std::string_view line_fault(std::string_view line) {
  if (is_private(line)) return "is a private key: keep it secret, and replace it if others may have seen it";
  if (line.empty()) return "is empty";
  if (line.size() > kKeyLineMax) return "is longer than any key (16 KiB)";
  if (line.find('\n') != std::string_view::npos) return "has more than one line: send exactly one key";
  if (std::any_of(line.begin(), line.end(), is_control)) return "contains a control character";
  return {};
}

// What is wrong with the first word, if it is not the type of a key.
std::string_view type_fault(std::string_view type, std::string_view rest) {
  if (names_a_key(type)) return {};
  if (type.front() == '#') return "is a comment";
  if (type == "@cert-authority" || type == "@revoked") return "is a line of known_hosts";
  if (holds_key(rest)) return "has text before its type: options are not supported";
  return "is not of the form `TYPE BASE64 [COMMENT]`";
}

}  // namespace

std::string PublicKey::line() const { return type + " " + base::base64_encode(blob); }

std::string PublicKey::fingerprint() const { return base::ssh_fingerprint(blob); }

base::Result<PublicKey> public_key_from(std::string_view line) {
  line = trimmed(line);
  if (const auto fault = line_fault(line); !fault.empty()) return refused_key(fault);
  const std::string_view named = take_field(line);
  if (const auto fault = type_fault(named, line); !fault.empty()) return refused_key(fault);
  const std::string_view text = take_field(line);
  auto blob = base::base64_decode(text);
  if (!blob || base::base64_encode(*blob) != text) {
    return refused_key("is damaged: its second word is not valid base64");
  }
  auto type = public_key_type(*blob);
  if (!type) return std::move(type.error());
  if (*type != named) return refused_key("is damaged: its data has a different type than its first word");
  if (holds_key(line)) return refused_key("is followed by another: send exactly one key");
  return PublicKey{std::move(*type), std::move(*blob), std::string(line)};
}

}  // namespace millrace::machines

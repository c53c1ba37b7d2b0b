#include "storage/s3/signature.h"

#include <array>
#include <cctype>
#include <ctime>

#include "platform/base/base64.h"

namespace millrace::s3 {
namespace {

std::string bytes_text(const base::Sha256Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// "20130524T000000Z"
std::string basic_time(base::WallTime now) {
  const std::time_t seconds = base::millis(now) / 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &utc)};
}

// A key of its own for each day, region and service.
std::string signing_key(const Credentials& credentials, std::string_view day) {
  std::string key = "AWS4" + credentials.secret_key.reveal();
  for (const std::string_view part : {day, std::string_view(credentials.region), std::string_view("s3"),
                                      std::string_view("aws4_request")}) {
    key = bytes_text(base::hmac_sha256(key, part));
  }
  return key;
}

struct CanonicalHeaders {
  std::string lines, names;
};

CanonicalHeaders canonical(const std::map<std::string, std::string>& headers) {
  CanonicalHeaders out;
  for (const auto& [name, value] : headers) {
    out.lines.append(name).append(":").append(value).append("\n");
    if (!out.names.empty()) out.names += ';';
    out.names += name;
  }
  return out;
}

}  // namespace

std::string base64_of_hex(std::string_view hex) {
  std::string bytes;
  const auto nibble = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(nibble(hex[i]) << 4 | nibble(hex[i + 1])));
  return base::base64_encode(bytes);
}

std::string uri_encoded(std::string_view text, bool keeps_slash) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain =
        byte < 0x80 && (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~');
    if (is_plain || (keeps_slash && c == '/')) {
      out += c;
    } else {
      out.append("%").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    }
  }
  return out;
}

std::string query_text(const std::map<std::string, std::string>& query) {
  std::string out;
  for (const auto& [name, value] : query) {
    if (!out.empty()) out += '&';
    out.append(uri_encoded(name)).append("=").append(uri_encoded(value));
  }
  return out;
}

HeaderPairs sign(const SignedParts& parts, const Credentials& credentials, base::WallTime now) {
  const std::string time = basic_time(now);
  const std::string day = time.substr(0, 8);
  std::map<std::string, std::string> headers = parts.headers;
  headers["x-amz-content-sha256"] = parts.payload_sha256_hex;
  headers["x-amz-date"] = time;
  HeaderPairs out(headers.begin(), headers.end());
  headers["host"] = parts.host;

  const auto [lines, names] = canonical(headers);
  const std::string request = parts.method + "\n" + uri_encoded(parts.path, true) + "\n" +
                              query_text(parts.query) + "\n" + lines + "\n" + names + "\n" +
                              parts.payload_sha256_hex;
  const std::string scope = day + "/" + credentials.region + "/s3/aws4_request";
  const std::string to_sign =
      "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + base::hex(base::sha256(request));
  const std::string signature = base::hex(base::hmac_sha256(signing_key(credentials, day), to_sign));
  out.emplace_back("authorization", "AWS4-HMAC-SHA256 Credential=" + credentials.access_key.reveal() + "/" +
                                        scope + ",SignedHeaders=" + names + ",Signature=" + signature);
  return out;
}

}  // namespace millrace::s3

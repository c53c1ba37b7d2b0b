#include "machines/public_key.h"

#include <algorithm>

#include "machines/public_key_blob.h"
#include "platform/base/base64.h"
#include "platform/base/crypto.h"

namespace millrace::machines {
namespace {

constexpr std::size_t kKeyLineMax = std::size_t{16} << 10;  // a key of 16,384 bits has 2.8 KB
constexpr std::string_view kSpaces = " \t";

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f; }

// Without spaces around it; the end of the line of the file that it was read from counts as one.
std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kAround = " \t\r\n";
  const std::size_t begin = line.find_first_not_of(kAround);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kAround) - begin + 1);
}

// Takes the first word and the spaces after it.
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

// A type with the beginning of its base64 after it: any key's first four bytes are a small length.
bool holds_key(std::string_view rest) {
  while (!rest.empty()) {
    if (names_a_key(take_field(rest)) && rest.substr(0, 4) == "AAAA") return true;
  }
  return false;
}

bool is_private(std::string_view line) { return line.find("PRIVATE KEY") != std::string_view::npos; }

// What is wrong with the line as a whole; empty: nothing.
std::string_view line_fault(std::string_view line) {
  if (is_private(line)) return "is a private key: keep it, and replace it if others have seen this one";
  if (line.empty()) return "is empty";
  if (line.size() > kKeyLineMax) return "is longer than any key (16 KiB)";
  if (line.find('\n') != std::string_view::npos) return "is more than one line: one key is taken";
  if (std::any_of(line.begin(), line.end(), is_control)) return "holds a control character";
  return {};
}

// What is wrong with the first word, if it is no type of a key.
std::string_view type_fault(std::string_view type, std::string_view rest) {
  if (names_a_key(type)) return {};
  if (type.front() == '#') return "is a comment";
  if (type == "@cert-authority" || type == "@revoked") return "is a line of known_hosts";
  if (holds_key(rest)) return "has something before its type: options are not taken";
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
    return refused_key("is damaged: its second word is not whole base64");
  }
  auto type = public_key_type(*blob);
  if (!type) return std::move(type.error());
  if (*type != named) return refused_key("is damaged: it is of another type than its first word says");
  if (holds_key(line)) return refused_key("is followed by another: one key is taken");
  return PublicKey{std::move(*type), std::move(*blob), std::string(line)};
}

}  // namespace millrace::machines

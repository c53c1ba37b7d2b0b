#include <string>

#include "machines/keys/public_key.h"
#include "platform/base/base64.h"
#include "tests/fuzz/fuzz.h"

// SSH public keys. The input is a line of authorized_keys, or `TYPE`, a space and the bytes of the key's wire
// form.
namespace millrace::machines {
namespace {

using fuzz::require;

void check_line(std::string_view line) {
  const auto key = public_key_from(line);
  if (!key) {
    require(key.error().code == base::Code::kInvalidField && !key.error().message.empty(),
            "a refusal says why");
    return;
  }
  require(public_key_type(key->blob).value_or("") == key->type, "a key has the type of its line");
  require(key->line().find_first_of("\r\n") == std::string::npos, "a key is one line");
  const auto again = public_key_from(key->line());
  require(again && again->blob == key->blob && again->type == key->type, "an accepted key is accepted again");
  require(again->fingerprint() == key->fingerprint(), "a key has one fingerprint");
}

void check_blob(std::string_view input) {
  const std::size_t space = input.find(' ');
  if (space == std::string_view::npos) return;
  check_line(std::string(input.substr(0, space)) + " " + base::base64_encode(input.substr(space + 1)));
}

}  // namespace
}  // namespace millrace::machines

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  millrace::machines::check_line(millrace::fuzz::text_of(data, size));
  millrace::machines::check_blob(millrace::fuzz::text_of(data, size));
  return 0;
}

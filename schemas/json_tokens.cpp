#include "schemas/json_tokens.h"

#include <array>
#include <cstdint>

#include "schemas/json_string.h"

namespace millrace::schemas {
namespace {

enum class Byte : std::uint8_t { kWord, kSpace, kSign, kQuote };

constexpr std::array<Byte, 256> byte_kinds() {
  std::array<Byte, 256> kinds{};
  for (const char c : {' ', '\t', '\n', '\r'}) kinds[static_cast<unsigned char>(c)] = Byte::kSpace;
  for (const char c : {'{', '}', '[', ']', ',', ':'}) kinds[static_cast<unsigned char>(c)] = Byte::kSign;
  kinds['"'] = Byte::kQuote;
  return kinds;
}
constexpr std::array<Byte, 256> kByteKinds = byte_kinds();

}  // namespace

bool more_json_tokens_than(std::size_t max, std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  Byte before = Byte::kSpace;
  for (std::size_t tokens = 0; tokens <= max;) {
    if (at == end) return false;
    const Byte kind = kByteKinds[static_cast<unsigned char>(*at++)];
    if (kind != Byte::kSpace && (kind != Byte::kWord || before != Byte::kWord)) ++tokens;
    before = kind;
    if (at[-1] == '\\' && at != end) ++at;  // simdjson sees no quote there, even outside of strings
    if (kind != Byte::kQuote) continue;
    const auto inside = json_string_at(at, end);
    if (!inside) return tokens > max;
    at = inside->data() + inside->size() + 1;
  }
  return true;
}

}  // namespace millrace::schemas

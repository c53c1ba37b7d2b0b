#pragma once
#include <charconv>
#include <cstdint>
#include <cstring>

#include <endian.h>

// Numbers in the forms in which PostgreSQL sends them.
namespace millrace::storage {

template <class T>
T big_endian(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  if constexpr (sizeof value == 8) return static_cast<T>(be64toh(static_cast<std::uint64_t>(value)));
  if constexpr (sizeof value == 4) return static_cast<T>(be32toh(static_cast<std::uint32_t>(value)));
  return static_cast<T>(be16toh(static_cast<std::uint16_t>(value)));
}

// A whole number of type NUMERIC, which is the type of sums: the number of digits to the base of 10,000, the
// power of the first one, the sign, the number of decimal places, the digits; 16 bits each.
inline std::int64_t whole_number(const char* bytes) {
  constexpr int kHeader = 8, kBase = 10'000;
  const auto at = [&](int offset) { return big_endian<std::int16_t>(bytes + offset); };
  const int digits = at(0), power = at(2);
  std::int64_t value = 0;
  for (int i = 0; i <= power; ++i) value = value * kBase + (i < digits ? at(kHeader + 2 * i) : 0);
  return at(4) == 0 ? value : -value;
}

// The number at the beginning of a text; 0: there is none.
inline std::int64_t text_number(const char* text) {
  std::int64_t value = 0;
  std::from_chars(text, text + std::strlen(text), value);
  return value;
}

}  // namespace millrace::storage

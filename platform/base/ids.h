#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/clock.h"

namespace millrace::base {

// 16 bytes; new ones are UUIDv7, so that keys made one after the other sort one after the other.
class Uuid {
 public:
  constexpr Uuid() = default;
  explicit constexpr Uuid(std::array<std::uint8_t, 16> bytes) : bytes_(bytes) {}

  // A new UUIDv7 at `now`. Monotonic within the process even inside one millisecond. Thread-safe.
  static Uuid make(WallTime now);
  // Lower-case 8-4-4-4-12 only.
  static std::optional<Uuid> parse(std::string_view text);
  // Exactly 16 bytes, as storage keeps them.
  static std::optional<Uuid> from_bytes(std::string_view bytes);

  std::string str() const;
  void append_to(std::string& out) const;  // the same text
  std::string_view bytes() const;
  // The millisecond in which a UUIDv7 was made.
  WallTime time() const;
  bool is_nil() const { return *this == Uuid(); }

  friend constexpr auto operator<=>(const Uuid&, const Uuid&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

struct UuidHash {
  std::size_t operator()(const Uuid& id) const noexcept;
};

// `bytes` random bytes from the kernel (getrandom), cheap for small counts (buffered per thread).
std::string random_bytes(std::size_t bytes);

}  // namespace millrace::base

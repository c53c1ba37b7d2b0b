#pragma once
#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/base/clock.h"

namespace millrace::base {

// A UUID of 16 bytes. New ones are UUIDv7, so keys sort in the order of their creation.
class Uuid {
 public:
  constexpr Uuid() = default;
  explicit constexpr Uuid(std::array<std::uint8_t, 16> bytes) : bytes_(bytes) {}

  // Makes a new UUIDv7 for `now`. Monotonic within the process, even inside one millisecond. Thread-safe.
  static Uuid make(WallTime now);
  // Accepts only the lower-case 8-4-4-4-12 form.
  static std::optional<Uuid> parse(std::string_view text);
  // Accepts exactly 16 bytes, the form in which storage keeps ids.
  static std::optional<Uuid> from_bytes(std::string_view bytes);

  std::string str() const;
  void append_to(std::string& out) const;  // appends the same text
  std::string_view bytes() const;
  // The millisecond in which a UUIDv7 was created.
  WallTime time() const;
  bool is_nil() const { return *this == Uuid(); }

  friend constexpr auto operator<=>(const Uuid&, const Uuid&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

struct UuidHash {
  std::size_t operator()(const Uuid& id) const noexcept;
};

// `bytes` random bytes from the kernel (getrandom). Small requests are cheap, because each thread has a
// buffer.
std::string random_bytes(std::size_t bytes);

}  // namespace millrace::base

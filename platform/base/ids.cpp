#include "platform/base/ids.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/random.h>

#include "platform/base/crypto.h"

namespace millrace::base {
namespace {

constexpr unsigned kCounterBits = 12;

void fill_from_kernel(unsigned char* out, std::size_t size) {
  while (size > 0) {
    const ssize_t got = ::getrandom(out, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category(), "getrandom");
    out += got;
    size -= static_cast<std::size_t>(got);
  }
}

// A buffer of random bytes. Each byte is returned once and then wiped.
class RandomBuffer {
 public:
  void take(unsigned char* out, std::size_t size) {
    if (size > sizeof bytes_ / 2) return fill_from_kernel(out, size);
    if (size > sizeof bytes_ - used_) {
      fill_from_kernel(bytes_, sizeof bytes_);
      used_ = 0;
    }
    std::memcpy(out, bytes_ + used_, size);
    std::memset(bytes_ + used_, 0, size);
    used_ += size;
  }

 private:
  unsigned char bytes_[512];
  std::size_t used_ = sizeof bytes_;
};

void random_into(unsigned char* out, std::size_t size) {
  thread_local RandomBuffer buffer;
  buffer.take(out, size);
}

// Milliseconds and a counter as one number that only grows. A new millisecond starts the counter at a random
// low value. If the counter overflows or the clock goes back, the number continues into the next millisecond.
std::uint64_t next_stamp(std::uint64_t now_ms, std::uint64_t start) {
  static std::atomic<std::uint64_t> last{0};
  std::uint64_t seen = last.load(std::memory_order_relaxed);
  std::uint64_t next = 0;
  do {
    next = std::max((now_ms << kCounterBits) | start, seen + 1);
  } while (!last.compare_exchange_weak(seen, next, std::memory_order_relaxed));
  return next;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// "00", "01" … "ff".
constexpr std::array<char, 512> hex_pairs() {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::array<char, 512> pairs{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    pairs[2 * byte] = kHex[byte >> 4];
    pairs[2 * byte + 1] = kHex[byte & 15];
  }
  return pairs;
}
constexpr std::array<char, 512> kHexPairs = hex_pairs();

// The position of the two hex digits of each byte in the text.
constexpr std::array<std::uint8_t, 16> kPlaces{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

constexpr bool is_dash_place(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

}  // namespace

Uuid Uuid::make(WallTime now) {
  std::array<std::uint8_t, 16> b{};
  random_into(b.data() + 6, 10);
  const std::uint64_t stamp = next_stamp(static_cast<std::uint64_t>(millis(now)), b[6]);
  const std::uint64_t ms = stamp >> kCounterBits;
  for (std::size_t i = 0; i < 6; ++i) b[i] = static_cast<std::uint8_t>(ms >> (40 - 8 * i));
  b[6] = static_cast<std::uint8_t>(0x70 | ((stamp >> 8) & 0x0F));
  b[7] = static_cast<std::uint8_t>(stamp);
  b[8] = static_cast<std::uint8_t>(0x80 | (b[8] & 0x3F));
  return Uuid(b);
}

std::optional<Uuid> Uuid::parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  std::array<std::uint8_t, 16> b{};
  std::size_t nibble = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_dash_place(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const int value = hex_value(text[i]);
    if (value < 0) return std::nullopt;
    b[nibble / 2] = static_cast<std::uint8_t>(b[nibble / 2] << 4 | value);
    ++nibble;
  }
  return Uuid(b);
}

std::optional<Uuid> Uuid::from_bytes(std::string_view bytes) {
  std::array<std::uint8_t, 16> b{};
  if (bytes.size() != b.size()) return std::nullopt;
  std::memcpy(b.data(), bytes.data(), b.size());
  return Uuid(b);
}

std::string Uuid::str() const {
  std::string out;
  append_to(out);
  return out;
}

void Uuid::append_to(std::string& out) const {
  std::array<char, 36> text{};
  text.fill('-');
  for (std::size_t i = 0; i < bytes_.size(); ++i)
    std::memcpy(text.data() + kPlaces[i], kHexPairs.data() + std::size_t{2} * bytes_[i], 2);
  out.append(text.data(), text.size());
}

std::string_view Uuid::bytes() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

WallTime Uuid::time() const {
  std::int64_t ms = 0;
  for (std::size_t i = 0; i < 6; ++i) ms = ms << 8 | bytes_[i];
  return wall_from(ms);
}

std::size_t UuidHash::operator()(const Uuid& id) const noexcept {
  std::uint64_t tail = 0;
  std::uint64_t head = 0;
  std::memcpy(&head, id.bytes().data(), sizeof head);
  std::memcpy(&tail, id.bytes().data() + 8, sizeof tail);
  return static_cast<std::size_t>(tail ^ (head * 0x9E3779B97F4A7C15ULL));
}

std::string random_bytes(std::size_t bytes) {
  std::string out(bytes, '\0');
  random_into(reinterpret_cast<unsigned char*>(out.data()), out.size());
  return out;
}

}  // namespace millrace::base

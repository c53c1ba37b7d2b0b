#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

// The SSH wire format (RFC 4251 §5) of keys, certificates, signatures and revocation lists.
namespace millrace::machines {

class WireWriter {
 public:
  WireWriter& u8(std::uint8_t value);
  WireWriter& u32(std::uint32_t value);
  WireWriter& u64(std::uint64_t value);
  WireWriter& string(std::string_view bytes);  // preceded by its length
  WireWriter& raw(std::string_view bytes);

  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

std::string wire_strings(std::initializer_list<std::string_view> strings);  // concatenated

// Reads from the front of `bytes`, which must outlive the reader. A call that returns nullopt consumes
// nothing.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  std::optional<std::uint32_t> u32();
  std::optional<std::uint64_t> u64();
  std::optional<std::string_view> string();
  std::optional<std::string_view> raw(std::size_t bytes);

  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// Overwrites a secret when the scope ends.
class WipedAtEnd {
 public:
  explicit WipedAtEnd(std::string& secret) : secret_(secret) {}
  ~WipedAtEnd();
  WipedAtEnd(const WipedAtEnd&) = delete;
  WipedAtEnd& operator=(const WipedAtEnd&) = delete;

 private:
  std::string& secret_;
};

}  // namespace millrace::machines

#include "machines/keys/ssh_wire.h"

#include <openssl/crypto.h>

namespace millrace::machines {
namespace {

constexpr std::size_t kLengthBytes = 4;

void append_number(std::string& bytes, std::uint64_t value, unsigned width) {
  for (unsigned left = width; left > 0; --left) bytes.push_back(static_cast<char>(value >> (8 * (left - 1))));
}

std::uint64_t number_of(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

}  // namespace

WireWriter& WireWriter::u8(std::uint8_t value) {
  append_number(bytes_, value, 1);
  return *this;
}

WireWriter& WireWriter::u32(std::uint32_t value) {
  append_number(bytes_, value, 4);
  return *this;
}

WireWriter& WireWriter::u64(std::uint64_t value) {
  append_number(bytes_, value, 8);
  return *this;
}

WireWriter& WireWriter::string(std::string_view bytes) {
  return u32(static_cast<std::uint32_t>(bytes.size())).raw(bytes);
}

WireWriter& WireWriter::raw(std::string_view bytes) {
  bytes_.append(bytes);
  return *this;
}

std::string wire_strings(std::initializer_list<std::string_view> strings) {
  WireWriter writer;
  for (const std::string_view text : strings) writer.string(text);
  return writer.take();
}

std::optional<std::uint32_t> WireReader::u32() {
  const auto bytes = raw(kLengthBytes);
  if (!bytes) return std::nullopt;
  return static_cast<std::uint32_t>(number_of(*bytes));
}

std::optional<std::uint64_t> WireReader::u64() {
  const auto bytes = raw(sizeof(std::uint64_t));
  if (!bytes) return std::nullopt;
  return number_of(*bytes);
}

std::optional<std::string_view> WireReader::string() {
  const std::string_view before = rest_;
  const auto length = u32();
  const auto bytes = length ? raw(*length) : std::nullopt;
  if (!bytes) rest_ = before;
  return bytes;
}

std::optional<std::string_view> WireReader::raw(std::size_t bytes) {
  if (rest_.size() < bytes) return std::nullopt;
  const std::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}

WipedAtEnd::~WipedAtEnd() { OPENSSL_cleanse(secret_.data(), secret_.capacity()); }

}  // namespace millrace::machines

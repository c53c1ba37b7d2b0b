#include "storage/postgres/values.h"

namespace millrace::storage {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::uint64_t kNullLength = 0xFFFF'FFFF;

}  // namespace

std::string big_endian_bytes(std::uint64_t value, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = size; i-- > 0; value >>= 8) bytes[i] = static_cast<char>(value & 0xFF);
  return bytes;
}

void PostgresArray::add(const PostgresValue& value) {
  begins_.push_back(elements_.size());
  if (value.type == 0) {
    has_null_ = true;
    elements_ += big_endian_bytes(kNullLength, kLengthBytes);
    return;
  }
  type_ = value.type;
  elements_ += big_endian_bytes(value.bytes.size(), kLengthBytes);
  elements_ += value.bytes;
}

PostgresValue PostgresArray::take_last() {
  const std::string_view last = std::string_view(elements_).substr(begins_.back());
  PostgresValue value;
  if (last.substr(0, kLengthBytes) != big_endian_bytes(kNullLength, kLengthBytes))
    value = {.type = type_, .bytes = std::string(last.substr(kLengthBytes))};
  elements_.resize(begins_.back());
  begins_.pop_back();
  return value;
}

// Its header: the number of dimensions, whether it has NULL, the type; the number of elements, the first
// index.
std::string PostgresArray::binary() const {
  std::string out;
  out.reserve(5 * kLengthBytes + elements_.size());
  const std::uint64_t first_index = 1;
  for (const std::uint64_t field : {std::uint64_t{1}, std::uint64_t{has_null_}, std::uint64_t{type_},
                                    std::uint64_t{begins_.size()}, first_index})
    out += big_endian_bytes(field, kLengthBytes);
  return out += elements_;
}

}  // namespace millrace::storage

#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Values and arrays in PostgreSQL's binary form.
namespace millrace::storage {

struct PostgresValue {
  unsigned type = 0;  // number in pg_type; 0: NULL
  std::string bytes{};
};

std::string big_endian_bytes(std::uint64_t value, std::size_t size);

// The elements of an array of one dimension, each with its length.
class PostgresArray {
 public:
  unsigned type() const { return type_; }  // of its elements; 0: all are NULL
  bool accepts(const PostgresValue& value) const {
    return value.type == 0 || type_ == 0 || value.type == type_;
  }
  void add(const PostgresValue& value);
  PostgresValue take_last();
  std::string binary() const;

 private:
  unsigned type_ = 0;
  std::string elements_;
  std::vector<std::size_t> begins_;  // of each element
  bool has_null_ = false;
};

}  // namespace millrace::storage

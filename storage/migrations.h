#pragma once
#include <span>
#include <string_view>

namespace millrace::storage {

// One step of the schema. `number` is the `user_version` of a database that has taken it.
struct Migration {
  int number;
  std::string_view name;
  std::string_view sql;
};

// storage/migrations/NNNN_name.sql in order, embedded by cmake/migrations.cmake: numbers 1, 2, 3, … A
// released file never changes; a change of the schema is a new file.
std::span<const Migration> migrations();

}  // namespace millrace::storage

#pragma once
#include <span>
#include <string_view>

namespace millrace::storage {

// One schema step. `number` is the `user_version` of a database after the step.
struct Migration {
  int number;
  std::string_view name;
  std::string_view sql;
};

// The files storage/migrations/NNNN_name.sql in order, embedded by cmake/migrations.cmake. They are numbered
// 1, 2, 3, … without gaps. A released file never changes; a schema change is a new file.
std::span<const Migration> migrations();

}  // namespace millrace::storage

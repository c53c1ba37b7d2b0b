#pragma once
#include <string_view>

namespace millrace::storage {

// One schema step. `number` is the version of the schema after the step.
struct Migration {
  int number;
  std::string_view name;
  std::string_view sql;
};

}  // namespace millrace::storage

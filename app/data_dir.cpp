#include "app/data_dir.h"

#include <filesystem>
#include <system_error>

namespace millrace::app {

bool holds_store(const std::string& data_dir) {
  std::error_code unreadable;
  return std::filesystem::exists(data_dir + "/millrace.db", unreadable) || unreadable;
}

}  // namespace millrace::app

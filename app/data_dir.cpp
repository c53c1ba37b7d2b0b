#include "app/data_dir.h"

#include <filesystem>
#include <system_error>

#include "storage/data_dir.h"

namespace millrace::app {

bool holds_store(const std::string& data_dir) {
  std::error_code unreadable;
  const storage::DataDir dir(data_dir);
  return std::filesystem::exists(dir.database, unreadable) || unreadable ||
         !storage::lost_database(dir).empty();
}

}  // namespace millrace::app

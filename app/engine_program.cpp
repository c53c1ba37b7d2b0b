#include "app/engine_program.h"

#include <filesystem>

namespace millrace::app {

std::string engine_program() {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return (self.parent_path() / "millrace-engine").string();
}

}  // namespace millrace::app

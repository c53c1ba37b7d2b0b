#include "tests/support/processes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

namespace millrace::support {
namespace {

namespace fs = std::filesystem;

std::vector<pid_t> all_processes() {
  std::vector<pid_t> found;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename().string();
    const bool is_number = std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_number) found.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return found;
}

std::string content(pid_t pid, const char* name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();  // if the process ends meanwhile, the text is shorter; an iterator would throw
  return text.str();
}

pid_t parent_of(pid_t pid) {
  const std::string stat = content(pid, "stat");
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 4 >= stat.size()) return 0;
  return static_cast<pid_t>(std::atol(stat.c_str() + name_end + 4));  // ") S PPID"
}

}  // namespace

int processes_with(const std::string& mark) {
  const std::vector<pid_t> all = all_processes();
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](pid_t pid) {
    return content(pid, "cmdline").find(mark) != std::string::npos;
  }));
}

std::vector<pid_t> descendants_of(pid_t root) {
  std::map<pid_t, pid_t> parents;
  for (const pid_t pid : all_processes()) parents[pid] = parent_of(pid);
  std::vector<pid_t> found;
  for (const auto& [pid, parent] : parents) {
    for (auto up = parents.find(pid); up != parents.end() && up->second > 0; up = parents.find(up->second)) {
      if (up->second != root) continue;
      found.push_back(pid);
      break;
    }
  }
  return found;
}

}  // namespace millrace::support

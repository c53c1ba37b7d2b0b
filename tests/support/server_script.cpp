#include "tests/support/server_script.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace millrace::support {

namespace fs = std::filesystem;

std::string run_server_script(const std::string& name, const std::string& verb, const fs::path& dir) {
  const fs::path script = fs::path("scripts") / name;
  fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  while (!fs::exists(folder / script)) {
    if (folder == folder.parent_path())
      throw std::runtime_error(script.string() + " was not found in any folder above the test");
    folder = folder.parent_path();
  }
  const std::string command =
      "'" + (folder / script).string() + "' " + verb + " --dir '" + dir.string() + "'";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 256> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
  if (::pclose(pipe) != 0) throw std::runtime_error(command + " failed: " + output);
  return output.substr(0, output.find('\n'));
}

fs::path build_folder() {
  const char* given = std::getenv("MILLRACE_BUILD");
  return given != nullptr ? fs::path(given) : fs::read_symlink("/proc/self/exe").parent_path();
}

std::string fixture_line(const std::string& file) {
  std::string line;
  std::ifstream stream(build_folder() / file);
  std::getline(stream, line);
  return line;
}

}  // namespace millrace::support

#include "tests/support/kafka_broker.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace millrace::support {
namespace {

namespace fs = std::filesystem;

fs::path kafka_script() {
  fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  while (!fs::exists(folder / "scripts/kafka")) {
    if (folder == folder.parent_path())
      throw std::runtime_error("scripts/kafka was not found in any folder above the test");
    folder = folder.parent_path();
  }
  return folder / "scripts/kafka";
}

fs::path build_folder() {
  const char* given = std::getenv("MILLRACE_BUILD");
  return given != nullptr ? fs::path(given) : fs::read_symlink("/proc/self/exe").parent_path();
}

std::string first_line(std::string text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string KafkaBroker::script(const std::string& verb) const {
  const std::string command = "'" + kafka_script().string() + "' " + verb + " --dir '" + dir_.string() + "'";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 256> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
  if (::pclose(pipe) != 0) throw std::runtime_error(command + " failed: " + output);
  return output;
}

std::string KafkaBroker::start() { return first_line(script("start")); }
void KafkaBroker::stop() { script("stop"); }
void KafkaBroker::kill() { script("kill"); }
void KafkaBroker::wipe() { script("wipe"); }

std::string shared_kafka() {
  if (const char* given = std::getenv("MILLRACE_TEST_KAFKA"); given != nullptr && *given != '\0')
    return given;
  std::string address;
  std::ifstream file(build_folder() / "kafka-address");
  if (std::getline(file, address) && !address.empty()) return address;
  return KafkaBroker(build_folder() / "kafka").start();
}

}  // namespace millrace::support

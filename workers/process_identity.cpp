#include "workers/process_identity.h"

#include <csignal>
#include <fstream>
#include <sstream>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace millrace::workers {
namespace {

constexpr int kFieldsToStart = 19;  // of /proc/PID/stat between the state and the start time

std::optional<std::uint64_t> start_of(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');         // an iterator would throw where the process goes meanwhile
  const auto name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < kFieldsToStart; ++i) fields >> skipped;
  std::uint64_t started = 0;
  if (!(fields >> started)) return std::nullopt;
  return started;
}

std::uint64_t own_pid_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

}  // namespace

ProcessIdentity ProcessIdentity::of(std::int64_t pid, std::string boot_id) {
  ProcessIdentity process;
  process.pid = pid;
  process.started_ticks = start_of(pid).value_or(0);
  process.pid_namespace = own_pid_namespace();
  process.boot_id = std::move(boot_id);
  return process;
}

std::string ProcessIdentity::str() const {
  return "pid " + std::to_string(pid) + " started " + std::to_string(started_ticks) + " namespace " +
         std::to_string(pid_namespace) + " boot " + boot_id;
}

std::optional<ProcessIdentity> ProcessIdentity::parse(std::string_view line) {
  std::istringstream words{std::string(line)};
  ProcessIdentity found;
  std::string pid, started, space, boot;
  words >> pid >> found.pid >> started >> found.started_ticks >> space >> found.pid_namespace >> boot >>
      found.boot_id;
  if (!words || pid != "pid" || started != "started" || space != "namespace" || boot != "boot")
    return std::nullopt;
  return found;
}

bool ProcessIdentity::kill_if_same(const std::string& own_boot_id) const {
  if (boot_id != own_boot_id || pid_namespace != own_pid_namespace() || pid <= 1 || pid == ::getpid())
    return false;
  if (start_of(pid) != started_ticks) return false;
  return ::kill(static_cast<pid_t>(pid), SIGKILL) == 0;
}

}  // namespace millrace::workers

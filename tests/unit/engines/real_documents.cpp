#include "tests/unit/engines/real_documents.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform/process/child.h"

namespace millrace::engines::testing {
namespace {

base::Fd file_of(const std::string& bytes) {
  base::Fd fd(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) fd.reset();
  return fd;
}

std::string drawn(process::Spawner& spawner, const std::string& pdf, std::vector<std::string> arguments) {
  const base::Fd document = file_of(pdf);
  ::lseek(document.get(), 0, SEEK_SET);
  arguments.insert(arguments.begin(), {"/usr/bin/pdftoppm", "-singlefile"});
  arguments.emplace_back("/proc/self/fd/0");
  process::Command command{
      .argv = arguments, .environment = {"PATH=/usr/bin"}, .fds = {{0, document.get()}}, .idle = false};
  auto captured = process::capture(
      spawner, command, {.wall = std::chrono::minutes(2), .output_bytes_max = std::size_t{64} << 20});
  return captured ? captured->out : std::string();
}

struct Process {
  std::string name;
  pid_t parent = 0;
};

Process process_of(const std::string& pid) {
  std::ifstream status("/proc/" + pid + "/status");
  Process process;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Name:\t")) process.name = line.substr(6);
    if (line.starts_with("PPid:\t")) process.parent = static_cast<pid_t>(std::atoi(line.c_str() + 6));
  }
  return process;
}

bool descends_from(Process process, pid_t ancestor) {
  while (process.parent > 1 && process.parent != ancestor)
    process = process_of(std::to_string(process.parent));
  return process.parent == ancestor;
}

}  // namespace

pid_t engine_child_of_this_process() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
    const Process process = process_of(pid);
    if (process.name == "millrace-engine" && descends_from(process, ::getpid()))
      return std::atoi(pid.c_str());
  }
  return -1;
}

bool signal_engine_child(int signal) {
  const pid_t child = engine_child_of_this_process();
  return child > 0 && ::kill(child, signal) == 0;
}

base::Result<std::shared_ptr<const Document>> document_of(const std::string& bytes, std::string owner) {
  return Document::from(file_of(bytes), std::move(owner));
}

Raster raster_of(process::Spawner& spawner, const std::string& pdf, int dpi) {
  const std::string pgm = drawn(spawner, pdf, {"-gray", "-r", std::to_string(dpi)});
  Raster raster;
  int used = 0;
  if (std::sscanf(pgm.c_str(), "P5 %d %d 255%n", &raster.width, &raster.height, &used) != 2) return {};
  raster.gray = pgm.substr(static_cast<std::size_t>(used) + 1);
  return raster;
}

std::string picture_of(process::Spawner& spawner, const std::string& pdf, int dpi,
                       const std::string& format) {
  return drawn(spawner, pdf, {"-gray", "-r", std::to_string(dpi), "-" + format});
}

Raster turned_right(const Raster& raster) {
  Raster turned{std::string(raster.gray.size(), '\0'), raster.height, raster.width};
  for (int y = 0; y < raster.height; ++y) {
    for (int x = 0; x < raster.width; ++x) {
      const auto to = static_cast<std::size_t>(x) * static_cast<std::size_t>(turned.width) +
                      static_cast<std::size_t>(raster.height - 1 - y);
      const auto from =
          static_cast<std::size_t>(y) * static_cast<std::size_t>(raster.width) + static_cast<std::size_t>(x);
      turned.gray[to] = raster.gray[from];
    }
  }
  return turned;
}

std::string engine_path() {
  const char* build = std::getenv("MILLRACE_BUILD");
  if (build != nullptr) return std::string(build) + "/millrace-engine";
  char self[4096];
  const ssize_t length = ::readlink("/proc/self/exe", self, sizeof self);
  const std::string path(self, static_cast<std::size_t>(length > 0 ? length : 0));
  return path.substr(0, path.rfind('/')) + "/millrace-engine";
}

EngineLimits patient_limits() {
  EngineLimits limits;
  limits.page_cpu *= 10;
  limits.poppler_cpu *= 10;
  limits.decode_cpu *= 10;
  limits.sentence_cpu *= 10;
  limits.voice_sentence_cpu *= 10;
  return limits;
}

EnginePool::Options engine_options() {
  EnginePool::Options options;
  options.limits = patient_limits();
  options.engine_path = engine_path();
  options.children = 2;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  options.jail.limits.memory_bytes = 0;
#endif
  return options;
}

}  // namespace millrace::engines::testing

#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ai/engines/limits.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "platform/process/child.h"

namespace millrace::engines::host {

// A running program (of poppler or ffmpeg) that works on the document and writes its output to a pipe. Owns
// the child; the destructor kills it.
class ToolStream {
 public:
  enum class Read { kData, kEnd, kTimeout };
  using Time = std::chrono::steady_clock::time_point;

  // `cpu`: the program's limit of processor time.
  ToolStream(process::Child child, base::Fd out, std::chrono::milliseconds cpu)
      : child_(std::move(child)), out_(std::move(out)), cpu_(cpu) {}
  // Appends the next output to `to`; waits for it until `deadline`. After the deadline it reads nothing.
  Read read_some(std::string& to, Time deadline);
  // After kEnd, why the program ended: normally, stopped by its limits (CPU, memory), killed, or not
  // startable or not working on this host. The last two say nothing about the document.
  enum class Stop { kItself, kBounds, kKilled, kHost };
  Stop stop();
  // Call after kEnd. Does not return when the program was killed (Tools::capture).
  bool hit_bounds();

 private:
  process::Child child_;
  base::Fd out_;
  std::chrono::milliseconds cpu_;
  std::vector<char> piece_;
};

// Runs `work` in a copy of this process, for libraries that recurse as deep as their input says. Returns its
// result (0 to 255). nullopt: it crashed, or exceeded `cpu`. Does not return when the copy cannot be started
// or is killed (Tools::capture).
std::optional<int> run_in_copy(std::chrono::milliseconds cpu, const std::function<int()>& work);

// The same for work whose result is bytes, which it writes to the given descriptor: at most `bytes_max` of
// what it wrote until it ended, crashed or exceeded `cpu`.
std::string output_of_copy(std::chrono::milliseconds cpu, std::size_t bytes_max,
                           const std::function<void(int to)>& work);

// What a copy of this process wrote, and how it ended.
struct CopyRun {
  std::string output;          // to the descriptor that it was given
  std::string errors;          // to stderr
  bool is_whole = false;       // it ended by itself, when its work was done
  bool exceeded_time = false;  // of the processor
  bool was_killed = false;     // by SIGKILL: the host is short of memory
  std::chrono::milliseconds cpu{0};
};

// Runs `work`, which uses a library that can end the process, in a copy of this process. `bytes_max`: of
// `output` and of `errors`; more is dropped. nullopt: no descriptor is left. Does not return when the copy
// cannot be started.
std::optional<CopyRun> run_apart(std::chrono::milliseconds cpu, std::size_t bytes_max,
                                 const std::function<void(int to)>& work);

// Starts programs of poppler and ffmpeg on one document. Each runs under its own CPU and memory limits, which
// bound the cost of any document.
class Tools {
 public:
  Tools(process::Spawner& spawner, const EngineLimits& limits) : spawner_(spawner), limits_(limits) {}

  // `arguments` without the program name; "%" is replaced by the path of the document. It must be possible to
  // reopen `document_fd` by its path in /proc/self/fd. `cpu` is the limit for the whole run.
  base::Result<ToolStream> start(const std::string& program, std::vector<std::string> arguments,
                                 int document_fd, std::chrono::milliseconds cpu) const;
  // Ends this process when the program is killed for any reason but its time limit. The cause, such as a host
  // without memory, could have killed this process too; the gateway's rules for a dead child then apply.
  base::Result<process::Captured> capture(const std::string& program, std::vector<std::string> arguments,
                                          int document_fd) const;

 private:
  process::Command command(const std::string& program, std::vector<std::string> arguments, int document_fd,
                           std::chrono::milliseconds cpu) const;
  process::Spawner& spawner_;
  const EngineLimits& limits_;
};

}  // namespace millrace::engines::host

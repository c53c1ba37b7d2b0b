#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "ai/engines/limits.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "platform/process/child.h"

namespace millrace::engines::host {

// The first `size_bytes` of `fd` in a file in memory, which programs can open by its descriptor wherever the
// bytes came from. kInternal: `fd` has not so many, or memory is short.
base::Result<base::Fd> memory_copy(const base::Fd& fd, std::uint64_t size_bytes);

// A program (of poppler or ffmpeg) at work on the document, with its output coming down a pipe. Owns the
// child: dropped, it is killed.
class ToolStream {
 public:
  enum class Read { kData, kEnd, kTimeout };
  using Time = std::chrono::steady_clock::time_point;

  ToolStream(process::Child child, base::Fd out) : child_(std::move(child)), out_(std::move(out)) {}
  // Appends what comes next to `to`; waits for it until `deadline`. Once that has passed nothing is read.
  Read read_some(std::string& to, Time deadline);
  // After kEnd, how it came to it: by itself, stopped by its bounds (CPU, memory), or by the host, which says
  // nothing about the document: it was killed, or it could not be started or does not go.
  enum class Stop { kItself, kBounds, kKilled, kHost };
  Stop stop();
  // After kEnd. Does not return when it was killed (Tools::capture).
  bool hit_bounds();

 private:
  process::Child child_;
  base::Fd out_;
  std::vector<char> piece_;
};

// Starts programs of poppler and ffmpeg on one document. Each runs under its own bounds of CPU and memory: a
// document can cost no more, whatever is in it.
class Tools {
 public:
  Tools(process::Spawner& spawner, const EngineLimits& limits) : spawner_(spawner), limits_(limits) {}

  // `arguments` without the program; "%" stands for the document. `document_fd` must allow being opened again
  // (a memory file). `cpu` is for the whole run.
  base::Result<ToolStream> start(const std::string& program, std::vector<std::string> arguments,
                                 int document_fd, std::chrono::milliseconds cpu) const;
  // Ends this process when the program is killed (but by its time): whoever did it, as a host without memory,
  // could as well have killed this one, and the gateway's rules for that decide.
  base::Result<process::Captured> capture(const std::string& program, std::vector<std::string> arguments,
                                          int document_fd) const;

 private:
  process::Command command(const std::string& program, std::vector<std::string> arguments, int document_fd,
                           std::chrono::milliseconds cpu) const;
  process::Spawner& spawner_;
  const EngineLimits& limits_;
};

}  // namespace millrace::engines::host

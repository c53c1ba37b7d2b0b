#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/base/ids.h"
#include "platform/base/result.h"
#include "platform/process/fd.h"
#include "platform/process/spawner.h"
#include "schemas/execution.h"

// Commands on the machines of this host, each in a jail of its own (engines.md §5, security.md §6).
namespace millrace::machines {

// One command to run.
struct CommandOrder {
  base::Uuid machine;
  std::int64_t number = 0;  // of the machine: its uid is 210000 + number when the gateway is root
  std::vector<std::string> command;
  std::string cwd;  // empty: /workspace; relative: below it
  schemas::Environment environment;
  std::string input;  // stdin; then end of file
  std::chrono::milliseconds timeout{600'000};
  int memory_mib = 1024;
};

struct CommandEnd {
  enum class How : std::uint8_t {
    kExited,         // `exit_code`
    kSignalled,      // `signal`
    kTimedOut,       // stopped by its time-out
    kStopped,        // stopped by `stop`
    kPrepareFailed,  // no such directory or command, or not executable: `message` says it to the client
    kHostFailed,     // the jail could not be made: `message`
  };
  How how = How::kHostFailed;
  int exit_code = 0;
  int signal = 0;
  std::string message;
};

// Told to the one command that it is handed to. Thread-safe; outlives it.
class StopSwitch {
 public:
  StopSwitch();
  // SIGTERM to the command's tree, SIGKILL after `kStopGrace`. May come before the command begins.
  void stop();
  // SIGKILL to the whole tree at once.
  void kill();
  // Readable once one of them was called, until the command that runs has read it.
  int fd() const { return event_.get(); }
  bool killed() const;

 private:
  process::Fd event_;
  std::shared_ptr<std::atomic<bool>> killed_;
};
inline constexpr std::chrono::seconds kStopGrace{5};

// The driver `sandbox`: setpriv (root), bubblewrap with namespaces of its own, seccomp, rlimits; no network;
// the machine's folder as /workspace, private /tmp. The first process of each jail is `millrace-jail-init`:
// it says what became of the command over a socket of its own, so that neither the exit code nor the output
// of the command can be taken for a failure of the jail or the other way round. The order travels in a sealed
// file in memory: no argument or variable of it is seen in /proc outside of the jail but in the command
// itself. Thread-safe.
class Sandbox {
 public:
  struct Options {
    std::string data_dir;           // the machines' folders: DATA/machines/<id>/workspace
    std::string init_program = {};  // of millrace-jail-init; empty: beside this program
    // Of each jail, beside the order's memory, which bounds each process of it.
    unsigned processes = 128;                           // and threads
    unsigned open_files = 1024;                         // per process
    std::uint64_t file_bytes = std::uint64_t{1} << 30;  // of a file that is written
    std::uint64_t tmp_bytes = std::uint64_t{64} << 20;  // /tmp; /dev/shm as much again
  };
  // What was written; `bytes` are valid during the call only. On the thread that runs the command.
  using OnOutput = std::function<void(schemas::OutputStream stream, std::string_view bytes)>;

  // Tries a jail; blocks up to some seconds. Error: it does not work here; the message says why and what to
  // do. `spawner` must outlive every command.
  static base::Result<std::unique_ptr<Sandbox>> open(Options options, process::Spawner& spawner);
  ~Sandbox();
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  // Runs the command to its end and blocks for it. When it returns, no process of its tree is left: what the
  // command left running when it ended is killed. Its stdin is a file: it may be read again.
  CommandEnd run(const CommandOrder& order, const StopSwitch& stop, const OnOutput& on_output);

 private:
  struct Parts;
  explicit Sandbox(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::machines

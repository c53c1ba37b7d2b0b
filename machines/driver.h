#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "schemas/machines/execution.h"
#include "schemas/machines/machine.h"

// The seam between an execution and the machine that it is for (tests/contract/driver_contract.cpp).
namespace millrace::machines {

// One command to run.
struct CommandRequest {
  schemas::Machine machine;
  std::string execution;  // its id: names what belongs to it on the machine
  std::vector<std::string> command;
  std::string cwd;  // empty: the machine's /workspace, or the user's home (ssh); relative: below it
  schemas::Environment environment;
  std::string input;  // stdin; then end of file
  std::chrono::milliseconds timeout{600'000};
};

// A file that the command left, open for reading at its beginning.
struct ArtifactFile {
  std::string name;  // its path below $MILLRACE_ARTIFACTS
  std::int64_t bytes = 0;
  base::Fd content;
};

struct CommandEnd {
  enum class How : std::uint8_t {
    kExited,         // `exit_code`
    kSignalled,      // `signal`
    kTimedOut,       // stopped by its time-out
    kStopped,        // stopped by `stop`
    kNotBegun,       // `may_go` said no: nothing has run
    kPrepareFailed,  // no such directory or command, or not executable: `message` says it to the client
    kNotRoutable,    // the machine cannot be reached: `message`; nothing has run
    kHostFailed,     // the host failed, the machine was stopped, or the connection broke: `message`
  };
  How how = How::kHostFailed;
  int exit_code = 0;
  int signal = 0;
  std::string message;      // for the client
  std::string detail = {};  // what the host said, for the log of who runs the command
  std::vector<ArtifactFile> artifacts;
  // What was not taken of them, for the client: "3 files above 100 MiB were left out"; empty: nothing.
  std::string artifacts_note;
};

// Told to the one command that it is handed to. Thread-safe; outlives it.
class CancelToken {
 public:
  CancelToken();
  // SIGTERM to the command's tree, SIGKILL after `kStopGrace`. May come before the command begins.
  void stop();
  // SIGKILL to the whole tree at once.
  void kill();
  // Readable once one of them was called, until the command that runs has read it.
  int fd() const { return event_.get(); }
  // True while `fd` is readable.
  bool is_requested() const;
  bool killed() const;

 private:
  base::Fd event_;
  std::shared_ptr<std::atomic<bool>> killed_;
};
inline constexpr std::chrono::seconds kStopGrace{5};

// The first two on the thread that runs the command.
struct CommandHooks {
  // What was written; `bytes` are valid during the call only. May block.
  std::function<void(schemas::OutputStream stream, std::string_view bytes)> output;
  // Asked once, directly before the command begins; empty: yes.
  std::function<bool()> may_go;
  // The machine wants the command gone: `output` blocks no longer. Any thread, any number of times, never
  // after the command's end; must not block.
  std::function<void()> released = {};
};

// Thread-safe; everything blocks: slot threads.
class Driver {
 public:
  virtual ~Driver() = default;

  // Runs the command to its end. When it returns, no process of its tree is left that could be reached: what
  // the command left running when it ended is killed.
  virtual CommandEnd run(const CommandRequest& order, const CancelToken& stop, const CommandHooks& hooks) = 0;

  // Acts of the machine (schemas/machines/machine_lifecycle.h); each may be repeated. An error's message is
  // for the machine's owner, its `details` for the log of who does the act; kMachineNotRoutable: it cannot be
  // reached. `told`: a stop or kill of it makes an act that takes long fail soon; what it fails with then
  // says nothing of the machine. Makes it ready for commands (its disk, its limits), after the wake rule has
  // been followed.
  virtual base::Result<schemas::MachineFacts> start(const schemas::Machine& machine,
                                                    const CancelToken& cancel) = 0;
  // Ends what still runs on it; its disk stays.
  virtual base::Status stop(const schemas::Machine& machine, const CancelToken& cancel) = 0;
  // As `stop`, and removes its disk.
  virtual base::Status destroy(const schemas::Machine& machine, const CancelToken& cancel) = 0;
};

}  // namespace millrace::machines

#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "schemas/machines/execution.h"
#include "schemas/machines/machine.h"

// The interface between an execution and its machine (tests/contract/driver_contract.cpp).
namespace millrace::machines {

// One command to run.
struct CommandRequest {
  schemas::Machine machine;
  std::string execution;  // its id; names the resources of the command on the machine
  std::vector<std::string> command;
  // empty: the machine's /workspace, or the user's home (ssh); a relative path is below that
  std::string cwd;
  schemas::Environment environment;
  std::string input;                                // written to stdin, which is then closed
  std::shared_ptr<const base::Fd> input_file = {};  // instead of `input`: a file, from its current position
  std::chrono::milliseconds timeout{600'000};
  // How long processes that the command started may still write its output after it has ended.
  std::chrono::milliseconds output_grace{1'000};
};

// A file that the command left behind, open for reading from its beginning.
struct ArtifactFile {
  std::string name;  // its path below $MILLRACE_ARTIFACTS
  std::int64_t bytes = 0;
  base::Fd content;
};

struct CommandResult {
  enum class How : std::uint8_t {
    kExited,      // `exit_code`
    kSignalled,   // `signal`
    kTimedOut,    // stopped because its time-out expired
    kStopped,     // stopped through the CancelToken
    kNotStarted,  // `start_allowed` returned false: nothing has run
    // the directory or command does not exist or is not executable: `message` is for the client
    kPrepareFailed,
    kNotRoutable,  // the machine cannot be reached: `message`; nothing has run
    kHostFailed,   // the host failed, the machine was stopped, or the connection broke: `message`
  };
  How how = How::kHostFailed;
  int exit_code = 0;
  int signal = 0;
  std::string message;      // for the client
  std::string detail = {};  // the output of the host; for the log of the process that runs the command
  std::vector<ArtifactFile> artifacts;
  // The limit of the machine that the command ran into, if it failed (kExited, kSignalled,
  // kPrepareFailed): kOutOfMemory,
  // kOutOfDisk, kProcessLimit or kCpuTimeExceeded; the message names the limit. The driver `ssh` knows none.
  std::optional<base::Error> limit = {};
  std::vector<std::string> warnings = {};  // for the client, beside the end
  bool output_open = false;  // after `output_grace`, a process still held the output open, and was killed
  // Which artifacts were not collected, for the client: "3 files above 100 MiB were left out". Empty: all
  // were collected.
  std::string artifacts_note;
};

// Cancels the one command that it is passed to. Thread-safe. Must outlive the command.
class CancelToken {
 public:
  CancelToken();
  // Sends SIGTERM to the command's process tree, and SIGKILL after `kStopGrace`. May be called before the
  // command starts.
  void stop();
  // Sends SIGKILL to the whole process tree immediately.
  void kill();
  // Readable after `stop` or `kill`. The driver reads it; a later call makes it readable again.
  int fd() const { return event_.get(); }
  // True while `fd` is readable.
  bool is_requested() const;
  bool killed() const;

 private:
  base::Fd event_;
  std::shared_ptr<std::atomic<bool>> killed_;
};
inline constexpr std::chrono::seconds kStopGrace{5};

// `output` and `start_allowed` are called on the thread that runs the command.
struct CommandHooks {
  // Receives the output of the command. `bytes` are valid only during the call. May block.
  std::function<void(schemas::OutputStream stream, std::string_view bytes)> output;
  // Called once, directly before the command starts. If it returns false, the command does not start. If it
  // is empty, the command starts.
  std::function<bool()> start_allowed;
  // The machine is ending the command: `output` must not block from now on. Called on any thread, any number
  // of times, but never after the command has ended. Must not block.
  std::function<void()> on_ending = {};
};

// Thread-safe. All calls block, so call them on slot threads.
class Driver {
 public:
  virtual ~Driver() = default;

  // Runs the command until it ends. While a process that it has started holds its output open, waits for up
  // to `output_grace`. Kills what the command has left running before it returns (over SSH: as far as the
  // host can be reached).
  virtual CommandResult run(const CommandRequest& request, const CancelToken& stop,
                            const CommandHooks& hooks) = 0;

  // Operations on the machine (schemas/machines/machine_lifecycle.h). Each may be repeated. The message of an
  // error is for the machine's owner; its `details` are for the log of the process that performs the
  // operation. kMachineNotRoutable: the machine cannot be reached. A `stop` or `kill` of `cancel` makes a
  // long operation fail soon; its error then does not describe the state of the machine.
  //
  // Prepares the machine for commands (its disk and limits). The caller has already applied the wake rule.
  virtual base::Result<schemas::MachineFacts> start(const schemas::Machine& machine,
                                                    const CancelToken& cancel) = 0;
  // Ends all processes on the machine. Its disk is kept.
  virtual base::Status stop(const schemas::Machine& machine, const CancelToken& cancel) = 0;
  // Does the same as `stop` and removes the disk.
  virtual base::Status destroy(const schemas::Machine& machine, const CancelToken& cancel) = 0;
};

// For the drivers.

// How long we keep reading from the pipes after the jail or the ssh client has exited. Another process may
// have inherited them.
inline constexpr std::chrono::milliseconds kDrainGrace{500};
inline constexpr std::size_t kPumpBufferBytes = std::size_t{128} << 10;  // bytes per read

// Results that the drivers create themselves.

CommandResult make_result(CommandResult::How how, std::string message = {});

// kMachineNotRoutable becomes kNotRoutable; all other codes become kHostFailed.
CommandResult result_of_error(const base::Error& error);
CommandResult host_failure(const std::string& reason);
// The client cancelled the command before any of it ran.
CommandResult cancelled_result();

// Gives a kHostFailed result a message that is safe to show to the client: `reason` if the machine's
// commands were ended for a reason, else only that the host failed. The original message is moved to
// `detail`.
CommandResult with_client_message(CommandResult end, const std::string& reason = {});

// True if the command may have run, so it may have left artifacts.
bool has_run(const CommandResult& end);

// Messages for the client about a command that could not be started. All drivers use the same text.

// `code` is the errno of execve or of chdir.
std::string execute_failure(int code);
std::string folder_failure(int code);

}  // namespace millrace::machines

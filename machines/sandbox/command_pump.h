#pragma once
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "machines/driver.h"
#include "machines/sandbox/jail_protocol.h"
#include "platform/base/fd.h"
#include "platform/base/result.h"
#include "platform/process/child.h"

namespace millrace::machines {

// The gateway's end of the socket to the first process of a jail, and a handle on that process. Not
// thread-safe.
class JailLink {
 public:
  struct SocketPair;
  // kOverloaded: the process has no free file descriptor.
  static base::Result<SocketPair> make();

  int fd() const { return socket_.get(); }  // readable: call `receive_message`; -1: the link is closed
  // Returns the next message. nullopt: there is none yet, or the other end is closed and `fd` is now -1. The
  // first message identifies the process.
  std::optional<JailMessage> receive_message();
  void send_command(JailMessageType type);

  // The pidfd of the first process. It becomes readable once the jail and all processes in it are gone. -1:
  // the first message has not arrived yet.
  int process() const { return process_.get(); }
  // Sends SIGKILL to the first process, which kills every process of the jail. If the pid is not
  // known yet, it closes the socket; the first process then exits without starting the command.
  void kill();

 private:
  explicit JailLink(base::Fd socket) : socket_(std::move(socket)) {}
  base::Fd socket_;
  base::Fd process_;
};

struct JailLink::SocketPair {
  JailLink link;
  base::Fd jail_socket;
};

// The gateway's ends of a started jail.
struct JailHandles {
  process::Child child;  // our program, which becomes bubblewrap
  JailLink link;
  base::Fd output;
  base::Fd errors;
  base::Fd setup_errors;
};

// Starts the command in a prepared jail, forwards its output and supervises it until it ends. Call `run`
// once.
class CommandPump {
 public:
  // `end_now` becomes readable when the machine ends its commands. The result is then kHostFailed without a
  // message.
  CommandPump(JailHandles jail, const CancelToken& stop, int end_now, const CommandHooks& hooks);

  // Blocks until the jail is gone. The `message` of kHostFailed is for the log, because it may contain paths
  // of the host. The `message` of kPrepareFailed is only the reason.
  CommandResult run(std::chrono::milliseconds timeout, std::chrono::milliseconds output_grace);
  bool has_started() const { return started_; }  // the command may have run
  const JailUsage& usage() const { return usage_; }

 private:
  using Steady = std::chrono::steady_clock;
  enum class Phase { kStarting, kRunning, kLingering, kTerminating, kKilled, kGone };
  enum PollIndex : std::size_t {
    kLink,
    kProcess,
    kOutput,
    kErrors,
    kSetupErrors,
    kStop,
    kEndNow,
    kPollCount
  };

  bool is_finished() const;
  void step();
  void on_readable(PollIndex index);
  void on_link_readable();
  void on_message(const JailMessage& message);
  void on_stop();
  void on_deadline();
  void start_command();
  void on_command_end(CommandResult end);
  void terminate(CommandResult::How why);
  void kill(CommandResult::How why);
  void on_jail_exit();
  void enter(Phase phase, std::chrono::milliseconds limit);
  void forward_output(base::Fd& from, schemas::OutputStream stream);
  void read_setup_errors();
  CommandResult result();

  JailHandles jail_;
  const CancelToken& stop_;
  const int end_now_;
  const CommandHooks& hooks_;
  std::vector<char> buffer_;
  std::chrono::milliseconds timeout_{0}, output_grace_{0};
  Phase phase_ = Phase::kStarting;
  Steady::time_point deadline_;
  bool started_ = false;
  bool gave_up_ = false;      // the kernel did not end the jail, or its pipes stayed open, until the deadline
  bool output_open_ = false;  // after the grace, a process still held the output open
  bool start_timed_out_ = false;  // the jail did not start in time
  JailUsage usage_;
  std::string setup_text_;
  std::optional<CommandResult> reported_end_;      // as reported by the jail
  std::optional<CommandResult::How> stop_reason_;  // why it was cancelled
};

}  // namespace millrace::machines

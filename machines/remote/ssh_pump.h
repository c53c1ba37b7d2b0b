#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machines/driver.h"
#include "machines/remote/remote_script.h"
#include "platform/base/fd.h"
#include "platform/process/child.h"

namespace millrace::machines {

// The gateway's ends of an OpenSSH client that runs a kRun (machines/remote/remote_script.h).
struct SshHandles {
  process::Child client;
  base::Fd input;  // a non-blocking socket
  base::Fd output;
  base::Fd errors;
};

// The message of a kHostFailed whose only cause is a broken connection.
inline constexpr const char* kConnectionLost = "the connection to the machine broke";

// How a command ended, as seen by the gateway.
struct SshResult {
  CommandResult end;
  bool late = false;  // the login timed out
  std::string noise;  // stderr of the host before it was ready, at most 4 KiB; for the log
};

// Sends the command over a connection, forwards its output and supervises it until it ends. Call `run` once.
class SshPump {
 public:
  struct Order {
    std::string token;
    std::string input;                                // the input of the kRun, then the stdin of the command
    std::shared_ptr<const base::Fd> input_file = {};  // more of the stdin; may be null
    std::string execution;                            // its id
    std::chrono::milliseconds login_limit;
    std::chrono::milliseconds timeout;
    std::chrono::milliseconds output_grace{1'000};
  };
  // Starts a kSweep over a new connection.
  using Sweep = std::function<base::Result<process::Child>(const RemoteTree& tree, int signal)>;

  SshPump(SshHandles handles, Order request, const CancelToken& stop, const CommandHooks& hooks, Sweep sweep);

  // Blocks until the client has exited and, if they can be reached, the processes of the command are gone.
  SshResult run();

 private:
  using Steady = std::chrono::steady_clock;
  using How = CommandResult::How;
  enum class Phase { kLogin, kRunning, kTerminating, kKilling, kEnded, kGone };
  enum Slot : std::size_t { kProcess, kInput, kOutput, kErrors, kStop, kSweeper, kSlots };

  bool over() const;
  void step();
  void look_at(Slot slot);
  void on_stop();
  void on_deadline();
  void on_message(RemoteMessage word);
  void on_sweeper_exit();
  void ready();
  void terminate(How why);
  void kill(How why);
  void give_up_client(How why);
  void end_lingering();
  void sweep(int signal);
  void client_gone();
  void enter(Phase phase, std::chrono::milliseconds limit);
  void feed();
  bool read_input_file();
  void read_output();
  void read_errors();
  void pass_on(schemas::OutputStream stream, std::string_view bytes);
  SshResult result();

  SshHandles handles_;
  Order request_;
  const CancelToken& stop_;
  const CommandHooks& hooks_;
  Sweep sweep_;
  RemoteOutput output_filter_;
  RemoteErrors errors_filter_;
  std::vector<char> buffer_;
  std::size_t sent_ = 0;  // bytes of request_.input that were sent
  RemoteTree tree_;
  std::optional<process::Child> sweeper_;
  int sweeps_left_ = 0;
  Phase phase_ = Phase::kLogin;
  Steady::time_point deadline_;
  bool logged_in_ = false;
  bool begun_ = false;    // the request was sent
  bool killing_ = false;  // a SIGKILL was sent, or sending it failed
  bool gave_up_ = false;
  std::string noise_;
  std::optional<CommandResult> end_;  // as reported by the host
  std::optional<How> stop_reason_;    // why it was cancelled
};

}  // namespace millrace::machines

#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machines/driver.h"
#include "machines/remote/remote_script.h"
#include "platform/base/fd.h"
#include "platform/process/child.h"

namespace millrace::machines {

// Our ends of an OpenSSH client that was started with a kRun (machines/remote/remote_script.h).
struct SshHandles {
  process::Child client;
  base::Fd input;  // a socket that does not block
  base::Fd output;
  base::Fd errors;
};

// The message of a kHostFailed that says just this.
inline constexpr const char* kConnectionBroke = "the connection to the machine broke";

// How a command ended, seen from here.
struct SshEnd {
  CommandEnd end;
  bool late = false;  // the login took too long
  std::string noise;  // what the host wrote to stderr before it was ready, at most 4 KiB: for the log
};

// Sends the command over a connection, moves its output and watches over its end. For one `run`.
class SshPump {
 public:
  struct Order {
    std::string token;
    std::string input;      // what the kRun reads, and the command's stdin after it
    std::string execution;  // its id
    std::chrono::milliseconds login_limit;
    std::chrono::milliseconds timeout;
  };
  // Starts a kSweep by a connection of its own.
  using Sweep = std::function<base::Result<process::Child>(const RemoteTree& tree, int signal)>;

  SshPump(SshHandles handles, Order order, const CancelToken& stop, const CommandHooks& hooks, Sweep sweep);

  // Blocks until the client is gone, and what it ran as far as it can be reached.
  SshEnd run();

 private:
  using Steady = std::chrono::steady_clock;
  using How = CommandEnd::How;
  enum class Phase { kLogin, kRunning, kTerminating, kKilling, kEnded, kGone };
  enum Slot : std::size_t { kProcess, kInput, kOutput, kErrors, kStop, kSweeper, kSlots };

  bool over() const;
  void step();
  void look_at(Slot slot);
  void on_stop();
  void on_deadline();
  void on_message(RemoteMessage word);
  void on_swept();
  void ready();
  void terminate(How why);
  void kill(How why);
  void give_up_client(How why);
  void sweep(int signal);
  void client_gone();
  void enter(Phase phase, std::chrono::milliseconds limit);
  void feed();
  void read_output();
  void read_errors();
  void pass_on(schemas::OutputStream stream, std::string_view bytes);
  SshEnd result();

  SshHandles handles_;
  Order order_;
  const CancelToken& stop_;
  const CommandHooks& hooks_;
  Sweep sweep_;
  RemoteOutput output_filter_;
  RemoteErrors errors_filter_;
  std::vector<char> buffer_;
  std::size_t sent_ = 0;  // of order_.input
  RemoteTree tree_;
  std::optional<process::Child> sweeper_;
  int sweeps_left_ = 0;
  Phase phase_ = Phase::kLogin;
  Steady::time_point deadline_;
  bool logged_in_ = false;
  bool begun_ = false;    // the order was sent
  bool killing_ = false;  // a SIGKILL was sent, or tried
  bool gave_up_ = false;
  std::string noise_;
  std::optional<CommandEnd> end_;   // as the host told it
  std::optional<How> stopped_for_;  // why it was told to stop
};

}  // namespace millrace::machines

#pragma once
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "machines/driver.h"
#include "machines/sandbox/jail_link.h"
#include "platform/base/fd.h"
#include "platform/process/child.h"

namespace millrace::machines {

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
  CommandResult run(std::chrono::milliseconds timeout);

 private:
  using Steady = std::chrono::steady_clock;
  enum class Phase { kStarting, kRunning, kTerminating, kKilled, kGone };
  enum Slot : std::size_t { kLink, kProcess, kOutput, kErrors, kSetupErrors, kStop, kEndNow, kSlots };

  bool over() const;
  void step();
  void look_at(Slot slot);
  void on_link_readable();
  void on_message(const JailMessage& message);
  void on_stop();
  void on_deadline();
  void begin();
  void terminate(CommandResult::How why);
  void kill(CommandResult::How why);
  void gone();
  void enter(Phase phase, std::chrono::milliseconds limit);
  void pass_on(base::Fd& from, schemas::OutputStream stream);
  void read_setup_errors();
  CommandResult result();

  JailHandles jail_;
  const CancelToken& stop_;
  const int end_now_;
  const CommandHooks& hooks_;
  std::vector<char> buffer_;
  std::chrono::milliseconds timeout_{0};
  Phase phase_ = Phase::kStarting;
  Steady::time_point deadline_;
  bool gave_up_ = false;
  bool late_ = false;  // the jail did not start in time
  std::string setup_text_;
  std::optional<CommandResult> end_;               // as reported by the jail
  std::optional<CommandResult::How> stopped_for_;  // why it was cancelled
};

}  // namespace millrace::machines

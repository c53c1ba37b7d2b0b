#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"
#include "app/cli/cut_off.h"

namespace millrace::cli {

class Interrupt;

// Prints an event of an execution: its output to our stdout or stderr, its warnings to stderr as "millrace:
// …". False: it cannot be written; errno says why.
[[nodiscard]] bool print_event(const nlohmann::json& event);

// How an execution ended, according to its last event.
struct ExecutionOutcome {
  std::string status{};  // empty: not known, `failure` says why
  int exit_code = 0;     // exit code of the command, if it has one
  int signal = 0;
  std::string error_code{}, error_message{};
  int failure = kOk;                // an ExitCode: the reason why there is no status
  bool interrupted = false;         // Ctrl-C has requested its cancellation
  bool cancelling = false;          // the gateway has accepted the cancellation
  std::optional<CutOff> cut_off{};  // why our side ended before it, or before its end was written
};

// What Ctrl-C does while an execution is followed. kCancel: requests its cancellation and keeps following
// until a second Ctrl-C. kLeave: stops following with kInterrupted; the execution continues.
enum class OnInterrupt : std::uint8_t { kCancel, kLeave };

// Called with the status and the number of each event before the event is printed (empty if it has no
// status), and with "" and the number of the last event when Ctrl-C requests a cancellation. Called on any
// thread, one call at a time.
using OnStatus = std::function<void(std::string_view status, std::int64_t number)>;

// Follows an execution's events to its end. Its output goes to our stdout and stderr; with `options.json`
// each event goes to stdout as one line of JSON. Reconnects if the connection is lost. Ends with `cut_off` at
// SIGHUP, if `interrupt` receives it, and if the output cannot be written; SIGPIPE must be ignored for that.
// `on_status` may be null.
ExecutionOutcome follow(const std::string& execution_path, ClientOptions options, Interrupt& interrupt,
                        OnInterrupt on_interrupt, OnStatus on_status);

}  // namespace millrace::cli

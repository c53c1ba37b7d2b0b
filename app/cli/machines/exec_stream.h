#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

namespace millrace::cli {

class Interrupt;

// An event of an execution: its output to our stdout or stderr, what it warns of to stderr as "millrace: …".
void print_event(const nlohmann::json& event);

// Whether an execution of this status, as the API shows it, has ended.
bool is_end(std::string_view status);

// How an execution ended, as its last event says.
struct ExecEnd {
  std::string status{};  // empty: not known, `exit_code` of ours says why
  int exit_code = 0;     // of the command, if it has one
  int signal = 0;
  std::string error_code{}, error_message{};
  int failure = kOk;         // an ExitCode: why there is no status
  bool interrupted = false;  // Ctrl-C has asked for its cancel
  bool cancelling = false;   // and the gateway has agreed
};

// What Ctrl-C does to an execution that is followed: asks for its cancel and goes on listening until a second
// one, or leaves it alone and ends with kInterrupted.
enum class OnInterrupt : std::uint8_t { kCancel, kLeave };

// Gets the status of each event before it is printed, empty for one without, and "" once more when Ctrl-C
// asks for a cancel; on any thread, one at a time.
using OnStatus = std::function<void(std::string_view status)>;

// Follows an execution's events to their end: output goes to our stdout and stderr, or, with `options.json`,
// each event as a line of JSON to stdout. Rides out a lost connection. `on_status` may be null.
ExecEnd follow(const std::string& execution_path, ClientOptions options, Interrupt& interrupt,
               OnInterrupt on_interrupt, OnStatus on_status);

}  // namespace millrace::cli

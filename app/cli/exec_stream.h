#pragma once
#include <cstdint>
#include <cstdio>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

namespace millrace::cli {

class Interrupt;

// The member `chunk` of an event or of an output, decoded as its `encoding` member says, to `to`.
void print_chunk(const nlohmann::json& of, const char* chunk, const char* encoding, std::FILE* to);

// How an execution ended, as its last event says.
struct ExecEnd {
  std::string status;  // empty: not known, `exit_code` of ours says why
  int exit_code = 0;   // of the command, if it has one
  int signal = 0;
  std::string error_code, error_message;
  int failure = kOk;  // an ExitCode: why there is no status
};

// Follows an execution's events to their end: output goes to our stdout and stderr. Rides out a lost
// connection. Ctrl-C asks for its cancel and goes on listening; a second one ends with kInterrupted.
ExecEnd follow(const std::string& execution_path, ClientOptions options, Interrupt& interrupt);

}  // namespace millrace::cli

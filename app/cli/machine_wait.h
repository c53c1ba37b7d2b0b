#pragma once
#include <chrono>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/cli/client.h"

namespace millrace::cli {

class Interrupt;

inline constexpr const char* kGone = "destroyed";  // the phase of a machine that is not there any more

// Asks for `machine` (the gateway's last word of it, which is replaced by its newest) until its phase is
// `running` or `sleeping`, as `phase` says, or until it is not there any more for `destroyed`. Returns an
// ExitCode; kFailed, with the reason on stderr: its act failed, somebody wants it otherwise by now, or
// `limit` is over. Rides out a gateway that is gone meanwhile.
int wait_for_phase(Client& client, Interrupt& interrupt, const std::string& phase,
                   std::chrono::milliseconds limit, nlohmann::json& machine);

}  // namespace millrace::cli

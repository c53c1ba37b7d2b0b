#pragma once
#include "machines/command_pump.h"
#include "machines/sandbox_command.h"
#include "platform/base/result.h"
#include "platform/process/spawner.h"

namespace millrace::machines {

// Starts the jail of a command; the command waits in it for `JailWord::kGo`. Errors are for the operator.
base::Result<JailHandles> start_jail(const CommandOrder& order, const JailParts& parts, const JailSite& site,
                                     process::Spawner& spawner);

}  // namespace millrace::machines

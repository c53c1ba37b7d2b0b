#pragma once
#include <string>

#include <sys/types.h>

#include "platform/base/result.h"

namespace millrace::machines {

// Makes what is missing of DATA/machines (0711), its folder `name` and `workspace` in it (0700, both of `uid`
// when we are root) and returns the path of the workspace. Thread-safe. kHostAgentFailed: its message names
// the path: for the operator alone.
base::Result<std::string> machine_workspace(const std::string& data_dir, const std::string& name, uid_t uid);

}  // namespace millrace::machines

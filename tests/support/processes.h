#pragma once
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::support {

// The number of processes of this host that have `mark` among their arguments.
int processes_with(const std::string& mark);

// All descendants of `root`, without `root`.
std::vector<pid_t> descendants_of(pid_t root);

}  // namespace millrace::support

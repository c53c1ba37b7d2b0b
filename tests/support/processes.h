#pragma once
#include <string>
#include <vector>

#include <sys/types.h>

namespace millrace::support {

// How many processes of this host have `mark` among their arguments.
int processes_with(const std::string& mark);

// All that come from `root`, it not among them.
std::vector<pid_t> descendants_of(pid_t root);

}  // namespace millrace::support

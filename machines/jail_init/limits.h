#pragma once
#include "machines/sandbox/jail_protocol.h"

namespace millrace::machines {

// Sets the limits of the calling process and of the processes that it starts. False: see errno.
bool set_limits(const JailInitLimits& limits);

// Enters `count` groups through the open files from `first` on, and closes the files. A group that was
// removed meanwhile is skipped. False: see errno.
bool enter_groups(int first, std::uint32_t count);

}  // namespace millrace::machines

#pragma once
#include "machines/sandbox/jail_protocol.h"

namespace millrace::machines {

// Of the calling process and what it starts. False: errno.
bool set_limits(const JailLimits& limits);

// Enters the `count` groups whose files are open from `first` on, and closes them. One that
// was removed meanwhile bounds nobody. False: errno.
bool enter_groups(int first, std::uint32_t count);

}  // namespace millrace::machines

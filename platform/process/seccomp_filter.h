#pragma once
#include <string>

#include "platform/base/result.h"

namespace millrace::process {

// The system calls that a locked-in engine and its poppler children need, as BPF bytes for `bwrap
// --add-seccomp-fd` or PR_SET_SECCOMP. Everything else gives EPERM: no socket is made, nothing is mounted,
// traced or loaded, no namespace entered, and no file is changed by its name alone (truncate, chmod: what
// Landlock does not see). kInternal when libseccomp refuses.
base::Result<std::string> engine_seccomp_filter();

}  // namespace millrace::process

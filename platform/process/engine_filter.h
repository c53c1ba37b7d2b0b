#pragma once
#include <string>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::process {

// The files of the system that a locked-in engine reads; none of them is writable. Fonts are what poppler
// replaces missing ones by. /usr stands for itself: programs and libraries are run from it as well.
inline constexpr const char* kReadableFiles[] = {"/etc/alternatives", "/etc/ld.so.cache", "/etc/fonts",
                                                 "/var/cache/fontconfig"};

// Those files and the null device as a Landlock ruleset, to be taken by `lock_in`: everything else can be
// neither read nor made, written, renamed or removed, whoever owns it; no TCP port is opened and, on a kernel
// that can, no process outside is signalled. kInternal: this kernel has no Landlock.
base::Result<base::Fd> engine_file_rules();

// The system calls that a locked-in engine and its poppler children need, as BPF bytes for `bwrap
// --add-seccomp-fd` or PR_SET_SECCOMP. Everything else gives EPERM: no socket is made, nothing is mounted,
// traced or loaded, no namespace entered, and no file is changed by its name alone (truncate, chmod: what
// Landlock does not see). kInternal when libseccomp refuses.
base::Result<std::string> engine_seccomp_filter();

}  // namespace millrace::process

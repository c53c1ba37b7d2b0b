#pragma once
#include <string>
#include <vector>

#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::process {

// The system files that a confined engine may read; none of them is writable. Fonts are needed because
// poppler substitutes missing ones. /usr is handled separately, because programs and libraries are executed
// from it.
inline constexpr const char* kReadableFiles[] = {"/etc/alternatives", "/etc/ld.so.cache", "/etc/fonts",
                                                 "/var/cache/fontconfig"};

// A Landlock ruleset for `confine_process` that allows these files, those of `readable` that can be opened,
// and the null device. Everything else cannot be read, created, written, renamed or removed, whoever owns it.
// No TCP port can be opened. If the kernel supports it, no process outside can be signalled. kInternal: this
// kernel does not support Landlock.
base::Result<base::Fd> engine_file_rules(const std::vector<std::string>& readable = {});

// A seccomp filter with the system calls that a confined engine and its poppler children need, as BPF bytes
// for `bwrap --add-seccomp-fd` or PR_SET_SECCOMP. All other calls fail with EPERM. So no socket can be
// created; nothing can be mounted, traced or loaded; no namespace can be entered. Calls that change a file by
// name alone (truncate, chmod) are denied too, because Landlock does not cover them. kInternal: libseccomp
// failed.
base::Result<std::string> engine_seccomp_filter();

}  // namespace millrace::process

#pragma once
#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::process {

// What is left to do for a child that Jail started in a form without namespaces: it locks itself in before it
// looks at any input. For the calling thread and whatever it starts later, for good; no new privileges
// either. `rules`: of engine_file_rules; empty: none. `filter`: a file with BPF of engine_seccomp_filter, at
// its beginning; empty: none. kInternal: the kernel refuses.
base::Status lock_in(base::Fd rules, base::Fd filter);

}  // namespace millrace::process

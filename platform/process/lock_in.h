#pragma once
#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::process {

// What is left to do for a child that Jail started in a form without namespaces: it locks itself in before it
// looks at any input. For the calling thread and whatever it starts later, for good; no new privileges
// either. `rules`: of engine_file_rules; empty: none. `filter`: a file with BPF of engine_seccomp_filter, at
// its beginning; empty: none. kInternal: the kernel refuses.
base::Status lock_in(base::Fd rules, base::Fd filter);

// Rather this process, and whatever it starts from here on, than those around it when the host runs out of
// memory: its oom_score_adj is raised by 500, to 1000 at most. That needs no right; where /proc does not take
// it, all stays as it is.
void offer_to_oom_killer();

}  // namespace millrace::process

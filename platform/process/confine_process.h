#pragma once
#include "platform/base/fd.h"
#include "platform/base/result.h"

namespace millrace::process {

// The self-confinement of a child that Jail started in a form without namespaces. It must be called before
// the child reads any input. It applies permanently to the calling thread and to everything that it starts
// later, and also forbids new privileges. `rules` come from engine_file_rules; empty: none. `filter` is a
// file with the BPF of engine_seccomp_filter, positioned at its beginning; empty: none. kInternal: the kernel
// rejected them.
base::Status confine_process(base::Fd rules, base::Fd filter);

// Makes the kernel prefer this process, and the processes that it starts later, when it has to kill one
// because the host runs out of memory. Raises its oom_score_adj by 500, to at most 1000. This needs no
// privilege. If /proc does not accept it, nothing changes.
void offer_to_oom_killer();

}  // namespace millrace::process

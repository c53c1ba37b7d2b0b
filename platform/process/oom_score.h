#pragma once

namespace millrace::process {

// Rather this process, and whatever it starts from here on, than those around it when the host runs out of
// memory: its oom_score_adj is raised by 500, to 1000 at most. That needs no right; where /proc does not take
// it, all stays as it is.
void offer_to_oom_killer();

}  // namespace millrace::process

#pragma once
#include "platform/base/result.h"

namespace millrace::inference {

// What everything that a request waits for ends with when its client has gone.
inline base::Error cancelled() { return base::error(base::Code::kJobCancelled, "the request was cancelled"); }

}  // namespace millrace::inference

#pragma once
#include <exception>
#include <string_view>

#include "platform/base/log.h"
#include "platform/base/result.h"

namespace millrace::workers {

inline base::Error threw(std::string_view step, const std::exception& what) {
  base::log_error("worker_step_threw", {{"step", step}, {"what", what.what()}});
  return base::error(base::Code::kInternal, "a step of the job failed inside the worker");
}

// Runs `work`, which gives a Result; what it throws (memory ran out, a library's exception) becomes
// kInternal, which another attempt may pass: nobody else would end what waits for it.
template <class Work>
auto guarded(std::string_view step, const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& what) {
    return threw(step, what);
  }
}

}  // namespace millrace::workers

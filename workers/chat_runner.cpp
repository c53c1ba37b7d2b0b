#include "workers/chat_runner.h"

#include <utility>

#include "workers/chat_lanes.h"
#include "workers/chat_run.h"

namespace millrace::workers {

std::shared_ptr<Run> ChatRunner::start(const storage::Claimed& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<ChatTry>(job, context, source_, std::move(ended));
  run->begin();
  return run;
}

std::shared_ptr<JobLanes> ChatRunner::lanes() { return std::make_shared<ChatLanes>(source_.chat.lanes()); }

}  // namespace millrace::workers

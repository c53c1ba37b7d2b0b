#pragma once
#include <functional>
#include <memory>

#include "workers/runner.h"

namespace millrace::bench {

// A kind of work that is over as soon as it begins.
class NoopRunner final : public workers::Runner {
 public:
  // Called at each start, on the work loop.
  using Started = std::function<void(const schemas::JobId& job)>;
  explicit NoopRunner(Started started) : started_(std::move(started)) {}

  std::shared_ptr<workers::Run> start(const storage::Claimed& job, workers::AttemptContext& context,
                                      Ended ended) override;

 private:
  Started started_;
};

}  // namespace millrace::bench

#pragma once
#include <functional>
#include <memory>

#include "workers/runner.h"

namespace millrace::bench {

// A runner whose jobs end as soon as they start.
class NoopRunner final : public workers::Runner {
 public:
  // Called at the start of each job, on the worker's loop.
  using Started = std::function<void(const schemas::JobId& job)>;
  explicit NoopRunner(Started started) : started_(std::move(started)) {}

  std::shared_ptr<workers::Run> start(const storage::ClaimedJob& job, workers::AttemptContext& context,
                                      Ended ended) override;

 private:
  Started started_;
};

}  // namespace millrace::bench

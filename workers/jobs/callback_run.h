#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "workers/runner.h"

namespace millrace::workers {

// An attempt as steps that follow each other by callbacks on the loop. Each begins with `goes_on`, so that a
// stop ends the run at the next turn. Loop thread only, but for `post`.
class CallbackRun : public Run, public std::enable_shared_from_this<CallbackRun> {
 public:
  virtual void begin() = 0;
  void stop(Stop why) final;

 protected:
  using Lane = base::Pool::Lane;
  using Cancel = std::function<void()>;

  // `step`: the kind, as the log names its steps; a literal.
  CallbackRun(std::string_view step, storage::Claimed job, AttemptContext& context, Runner::Ended ended);

  const storage::Claimed& job() const { return job_; }
  AttemptContext& context() const { return context_; }
  bool is_child() const { return job_.parent.has_value(); }
  bool is_over() const { return over_; }

  // False: the run has ended, or ends here as it was told to.
  bool is_running();
  void end(Outcome outcome);
  // The input's own faults, and what lasts, end the job; everything else may pass.
  void fail(base::Error error);
  // By the outcome that the last step found; what met a bound of ours is done `again` later.
  void end_with(base::Result<Outcome> outcome, std::function<void()> again);
  void again_later(std::function<void()> step);
  // Runs `work` on the pool and `then` with its result on the loop; again later while the pool is full. Work
  // that throws gives kInternal.
  template <class Work, class Then>
  void on_pool(Lane lane, Work work, Then then);
  // A step on the loop from any thread; one that throws ends the run with kInternal, for nothing else would.
  void post(std::function<void()> step);
  void take(const std::function<void()>& step);

  // What is under way outside, and is ended by a stop. `silent`: it does not call back once cancelled.
  void under_way(Cancel cancel, bool silent = false);
  void end_wait() { cancel_ = nullptr; }

 private:
  virtual void ending() {}  // the last word before `ended`
  // Of the request: faults of the input that name no field are about this one.
  virtual std::string_view input_field() const = 0;

  const std::string_view step_;
  const storage::Claimed job_;
  AttemptContext& context_;
  Runner::Ended ended_;
  const LoopLink link_;
  Cancel cancel_;
  bool cancel_is_silent_ = false;
  std::optional<Stop> stop_;
  bool over_ = false;
  net::Loop::Timer timer_;
};

template <class Work, class Then>
void CallbackRun::on_pool(Lane lane, Work work, Then then) {
  const bool posted = context_.pool().post(lane, [self = shared_from_this(), work, then] {
    auto result = std::make_shared<decltype(work())>(guarded(self->step_, work));
    self->post([self, then, result] {
      if (self->is_running()) then(std::move(*result));
    });
  });
  if (!posted) again_later([this, lane, work, then] { on_pool(lane, work, then); });
}

}  // namespace millrace::workers

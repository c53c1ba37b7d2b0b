#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "workers/runner.h"

namespace millrace::workers {

// An attempt as a chain of callbacks on the loop. Each step begins with `goes_on`, so a stop request ends the
// run at the next step. Loop thread only, except `post`.
class CallbackRun : public Run, public std::enable_shared_from_this<CallbackRun> {
 public:
  virtual void begin() = 0;
  void stop(Stop why) final;

 protected:
  using Lane = base::Pool::Lane;
  using Cancel = std::function<void()>;

  // `step`: the kind's name for its steps in the log; a literal.
  CallbackRun(std::string_view step, storage::Claimed job, AttemptContext& context, Runner::Ended ended);

  const storage::Claimed& job() const { return job_; }
  AttemptContext& context() const { return context_; }
  bool is_child() const { return job_.parent.has_value(); }
  bool is_over() const { return over_; }

  // False: the run has ended, or this call ends it because a stop was requested.
  bool is_running();
  void end(Outcome outcome);
  // Faults of the input and permanent errors end the job; all other errors are retried.
  void fail(base::Error error);
  // Ends with the outcome of the last step. If the step met a limit of ours, `again` runs later instead.
  void end_with(base::Result<Outcome> outcome, std::function<void()> again);
  void retry_later(std::function<void()> step);
  // Runs `work` on the pool and `then` with its result on the loop. While the pool is full, it is retried
  // later. Work that throws gives kInternal.
  template <class Work, class Then>
  void on_pool(Lane lane, Work work, Then then);
  // Runs `step` on the loop. A step that throws ends the run with kInternal; otherwise the run would never
  // end. Any thread.
  void post(std::function<void()> step);
  void take(const std::function<void()>& step);

  // Registers the cancel function of an external call; a stop request calls it. `silent`: the call does not
  // call back after it has been cancelled.
  void set_cancel(Cancel cancel, bool silent = false);
  void clear_cancel() { cancel_ = nullptr; }

 private:
  virtual void before_end() {}  // the last call before `ended`
  // The request's field for faults of the input that name no field.
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
  if (!posted) retry_later([this, lane, work, then] { on_pool(lane, work, then); });
}

}  // namespace millrace::workers

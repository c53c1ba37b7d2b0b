#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "machines/driver.h"
#include "schemas/machines/execution.h"
#include "workers/exec/exec_command.h"
#include "workers/runner.h"

namespace millrace::workers {

// One attempt at a command. The pool reads it from the store and a dedicated thread runs it. Its output goes
// to the store one write at a time, while the next batch fills. Loop thread only. Only the attempt owns it,
// so no other thread ever joins the command's thread.
class ExecRun final : public Run, public std::enable_shared_from_this<ExecRun> {
 public:
  ExecRun(const storage::Claimed& job, AttemptContext& context, std::shared_ptr<ExecContext> exec_context,
          Runner::Ended ended);
  void begin();
  void stop(Stop why) override;

 private:
  using RequestPtr = std::shared_ptr<machines::CommandRequest>;

  void prepare();
  void prepared(base::Result<machines::CommandRequest> order);
  void refused(const base::Error& error);
  void run(const RequestPtr& order);
  void write_output();
  void written(bool held);
  void ended(const std::shared_ptr<ExecResult>& end);
  void log_failure(const machines::CommandResult& end) const;
  bool write_artifacts();
  bool write_note();
  void settle();
  void fail_with_exception(const std::exception& what);

  bool is_running();
  bool lease_lost() const { return lost_ || stop_ == Stop::kLost; }
  void end(Outcome outcome);
  Fail failed(base::Error error) const;
  void retry_later(std::function<void(ExecRun&)> step);
  // Runs `step` on the loop if the run still exists; a step that throws fails the run. Any thread.
  static void post(const LoopLink& link, std::weak_ptr<ExecRun> run, std::function<void(ExecRun&)> step);
  void take(const std::function<void(ExecRun&)>& step);

  const std::shared_ptr<const storage::Claimed> job_;
  AttemptContext& context_;
  const std::shared_ptr<ExecContext> exec_context_;
  Runner::Ended ended_;

  std::unique_ptr<ExecCommand> command_;
  std::chrono::milliseconds timeout_{0};
  base::Uuid machine_;
  std::shared_ptr<ExecResult> end_;
  std::optional<base::Error> fault_;  // an error of the gateway, not of the command
  std::optional<Stop> stop_;
  bool writing_ = false;
  bool lost_ = false;  // the store refused a write
  bool over_ = false;
  net::Loop::Timer timer_;
};

// The outcome of the job for the end of its command. `counts`: the output sizes; `stop`: the last stop
// request that the run received.
Outcome exec_outcome(const machines::CommandResult& end, schemas::ExecutionResult counts,
                     std::optional<Stop> stop, std::chrono::milliseconds timeout);

}  // namespace millrace::workers

#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "machines/driver.h"
#include "platform/base/result.h"
#include "schemas/machines/execution.h"
#include "storage/store.h"
#include "workers/exec/exec_output.h"
#include "workers/exec/exec_request.h"
#include "workers/exec/file_command.h"
#include "workers/jobs/slot_threads.h"
#include "workers/runner.h"

namespace millrace::workers {

// Returns this host's driver of a kind; null: the host has none.
using Drivers = std::function<machines::Driver*(schemas::MachineDriver)>;

// The error for the machine's owner; the log has the reason.
inline base::Error no_such_driver(schemas::MachineDriver driver) {
  return base::error(base::Code::kMachineNotRoutable,
                     "machines of driver `" + std::string(schemas::name(driver)) +
                         "` cannot be used on this host; run `millrace doctor` for the reason");
}

// Runs one command to its end on the calling thread, as machines::Driver::run of the request's machine does.
using RunCommand = std::function<machines::CommandResult(const machines::CommandRequest& request,
                                                         const machines::CancelToken& stop,
                                                         const machines::CommandHooks& hooks)>;

struct ExecContext;

// Runs jobs of kind exec: one command on a machine, on a dedicated thread. Its output is written as events of
// the job while it runs; its files become artifacts. The job ends when all of them are in the store. An event
// `warning` {"message"} lists the files that were not kept. A running command is never handed over to another
// worker: a worker that shuts down lets it run for the drain grace period, then stops it.
class ExecRunner final : public Runner {
 public:
  struct Options {
    std::string secret_key;                         // 32 bytes: environments are encrypted with it
    std::size_t output_max = std::size_t{1} << 20;  // exec.output_max: bytes kept per stream
    std::chrono::milliseconds output_grace{1'000};  // exec.output_grace: CommandRequest::output_grace
  };
  // The drivers must outlive the runner.
  ExecRunner(Drivers drivers, Options options);
  ExecRunner(RunCommand run, Options options);
  // Waits for the commands that still run. REQUIRES: their runs have been stopped.
  ~ExecRunner() override;
  ExecRunner(const ExecRunner&) = delete;
  ExecRunner& operator=(const ExecRunner&) = delete;

  std::shared_ptr<Run> start(const storage::ClaimedJob& job, AttemptContext& context, Ended ended) override;

 private:
  const std::shared_ptr<ExecContext> exec_context_;
};

// If a command that runs at most once cannot be prepared because of an internal error, such as one of the
// disk, it is prepared again this often, with pauses of kStepRetryDelay that double: 8 s in all.
inline constexpr int kPreparationRetriesMax = 5;

// Shared by all runs of a runner.
struct ExecContext {
  ExecContext(RunCommand r, ExecRunner::Options o) : run(std::move(r)), options(std::move(o)) {}
  const RunCommand run;
  const ExecRunner::Options options;
  SlotThreads slots;
};

// The end of a command; its artifacts are already in the store's blobs.
struct ExecResult {
  machines::CommandResult command;
  StagedArtifacts artifacts;
};

// Runs one command on a dedicated thread.
class ExecCommand {
 public:
  // All are called on the command's thread; `ended` is the last call.
  struct Hooks {
    std::function<bool()> start_allowed;  // checked directly before the command begins
    std::function<void()> output;         // output is ready to be taken
    std::function<void(std::shared_ptr<ExecResult>)> ended;
  };

  // Throws std::system_error if the process is out of threads or descriptors; the command has not begun then.
  ExecCommand(std::shared_ptr<ExecContext> exec_context, storage::Store& store, PreparedCommand prepared,
              Hooks hooks);
  // Kills the command if it still runs and joins its thread.
  ~ExecCommand();
  ExecCommand(const ExecCommand&) = delete;
  ExecCommand& operator=(const ExecCommand&) = delete;

  // Sends SIGTERM and, after a grace period, SIGKILL.
  void stop();
  // Sends SIGKILL and drops the output.
  void kill();
  ExecOutput& output() { return output_; }

 private:
  void run();
  machines::CommandResult run_to_end();
  void take_output(schemas::OutputStream stream, std::string_view bytes);
  StagedArtifacts stage(machines::CommandResult& end);
  void stage_output_file(ExecResult& end);

  const std::shared_ptr<ExecContext> exec_context_;
  storage::Store& store_;
  const machines::CommandRequest request_;
  const std::string output_file_;           // PreparedCommand::output_file
  std::unique_ptr<ReceivedFile> received_;  // if that is set; used by the command's thread
  const Hooks hooks_;
  machines::CancelToken stop_;
  ExecOutput output_;
  std::jthread thread_;
};

// One attempt at a command. The pool reads it from the store and a dedicated thread runs it. Its output goes
// to the store one write at a time, while the next batch fills. Loop thread only. Only the attempt owns it:
// ~ExecCommand joins the command's thread, so everything else holds weak pointers.
class ExecRun final : public Run, public std::enable_shared_from_this<ExecRun> {
 public:
  ExecRun(const storage::ClaimedJob& job, AttemptContext& context, std::shared_ptr<ExecContext> exec_context,
          Runner::Ended ended);
  void begin();
  void stop(StopReason why) override;

 private:
  using PreparedPtr = std::shared_ptr<PreparedCommand>;

  void prepare();
  void prepared(base::Result<PreparedCommand> command);
  void refused(const base::Error& error);
  void run(const PreparedPtr& prepared);
  void write_output();
  void written(bool lease_held);
  void command_ended(const std::shared_ptr<ExecResult>& end);
  void log_failure(const machines::CommandResult& end) const;
  bool write_artifacts();
  bool write_warnings();
  void end_when_stored();
  void fail_with_exception(const std::exception& what);

  bool is_running();
  bool lease_lost() const { return lost_ || stop_ == StopReason::kLost; }
  void finish(Outcome outcome);
  Fail failed(base::Error error) const;
  void retry_later(std::function<void(ExecRun&)> step, std::chrono::milliseconds delay = kStepRetryDelay);
  // Runs `step` on the loop if the run still exists; a step that throws fails the run. Any thread.
  static void post(const WeakLoop& weak_loop, std::weak_ptr<ExecRun> run, std::function<void(ExecRun&)> step);
  void run_step(const std::function<void(ExecRun&)>& step);

  const std::shared_ptr<const storage::ClaimedJob> job_;
  AttemptContext& context_;
  const std::shared_ptr<ExecContext> exec_context_;
  Runner::Ended on_end_;

  std::unique_ptr<ExecCommand> command_;
  std::chrono::milliseconds timeout_{0};
  base::Uuid machine_;
  std::shared_ptr<ExecResult> result_;
  std::optional<base::Error> fault_;  // an error of the gateway, not of the command
  std::optional<StopReason> stop_;
  int preparation_retries_ = 0;
  InputRetries input_retries_;
  bool writing_ = false;
  bool open_output_reported_ = false;
  bool lost_ = false;  // the store refused a write
  bool finished_ = false;
  net::Loop::Timer timer_;
};

}  // namespace millrace::workers

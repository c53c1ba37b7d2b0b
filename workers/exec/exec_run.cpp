#include "workers/exec/exec_run.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "jobs/policy.h"
#include "schemas/json/json_text.h"
#include "workers/jobs/worker_metrics.h"
#include "workers/runner.h"

namespace millrace::workers {
namespace {

using base::Code;
using Queue = base::Pool::Queue;
using How = machines::CommandResult::How;

storage::Payload payload(const schemas::ExecutionResult& result) {
  return {schemas::to_json(result), nullptr};
}

Fail failed(Code code, std::string message, const schemas::ExecutionResult& result) {
  return {base::error(code, std::move(message)), payload(result)};
}

Outcome exited(int code, schemas::ExecutionResult result) {
  result.exit_code = code;
  if (code == 0) return Succeeded{payload(result)};
  return failed(Code::kCommandFailed, "the command ended with exit code " + std::to_string(code), result);
}

Outcome signalled(int signal, schemas::ExecutionResult result) {
  result.signal = signal;
  return failed(Code::kCommandFailed, "the command was terminated by signal " + std::to_string(signal),
                result);
}

// The command failed at a limit of its machine, or of the store that takes its output.
Outcome limited(const machines::CommandResult& end, schemas::ExecutionResult result) {
  if (end.how == How::kSignalled) result.signal = end.signal;
  if (end.how == How::kExited) result.exit_code = end.exit_code;
  return Fail{*end.limit, payload(result)};
}

// The outcome of the job for the end of its command. `sizes`: the output sizes; `stop`: the last stop
// request that the run received. A command that a cancel has stopped is Cancelled, with the sizes only.
Outcome exec_outcome(const machines::CommandResult& end, schemas::ExecutionResult sizes,
                     std::optional<StopReason> stop, std::chrono::milliseconds timeout) {
  sizes.output_open = end.output_open;
  if (end.limit) return limited(end, sizes);
  switch (end.how) {
    case How::kExited:
      return exited(end.exit_code, sizes);
    case How::kSignalled:
      return signalled(end.signal, sizes);
    case How::kTimedOut:
      return Expire{base::error(Code::kExecutionTimedOut, "the command ran for longer than its timeout_ms, " +
                                                              std::to_string(timeout.count())),
                    payload(sizes)};
    case How::kStopped:
      if (stop == StopReason::kCancel) return Cancelled{payload(sizes)};
      return Abandoned{};
    case How::kNotStarted:
      return Abandoned{};
    case How::kPrepareFailed:
      return failed(Code::kExecutionPrepareFailed, end.message, sizes);
    case How::kNotRoutable:
      return failed(Code::kMachineNotRoutable, end.message, sizes);
    case How::kHostFailed:
      return failed(Code::kHostAgentFailed, end.message, sizes);
  }
  return Abandoned{};
}

}  // namespace

ExecRun::ExecRun(const storage::ClaimedJob& job, AttemptContext& context,
                 std::shared_ptr<ExecContext> exec_context, Runner::Ended ended)
    : job_(std::make_shared<const storage::ClaimedJob>(job)),
      context_(context),
      exec_context_(std::move(exec_context)),
      on_end_(std::move(ended)) {}

void ExecRun::post(const WeakLoop& weak_loop, std::weak_ptr<ExecRun> run,
                   std::function<void(ExecRun&)> step) {
  weak_loop.post([run = std::move(run), step = std::move(step)] {
    if (const auto self = run.lock()) self->run_step(step);
  });
}

void ExecRun::run_step(const std::function<void(ExecRun&)>& step) {
  try {
    step(*this);
  } catch (const std::exception& what) {
    fail_with_exception(what);
  }
}

// Kills the command, because the run can no longer follow it.
void ExecRun::fail_with_exception(const std::exception& what) {
  if (finished_) return;
  fault_ = base::error(Code::kHostAgentFailed, exception_error("exec", what).message);
  if (command_ && !result_) return command_->kill();
  finish(failed(*fault_));
}

void ExecRun::retry_later(std::function<void(ExecRun&)> step, std::chrono::milliseconds delay) {
  timer_ = context_.loop().after(delay, [weak = weak_from_this(), step = std::move(step)] {
    const auto self = weak.lock();
    if (self && self->is_running()) self->run_step(step);
  });
}

// Checked before the command begins.
bool ExecRun::is_running() {
  if (finished_) return false;
  if (!stop_) return true;
  if (stop_ != StopReason::kCancel) {
    finish(Abandoned{});
  } else {
    finish(Cancelled{{schemas::to_json(schemas::ExecutionResult{}), nullptr}});
  }
  return false;
}

void ExecRun::finish(Outcome outcome) {
  if (!std::exchange(finished_, true)) on_end_(std::move(outcome));
}

void ExecRun::stop(StopReason why) {
  if (finished_ || stop_ == StopReason::kLost) return;
  stop_ = why;
  if (!command_) return;
  if (why != StopReason::kLost) return command_->stop();
  command_->kill();
  if (result_) finish(Abandoned{});
}

void ExecRun::begin() {
  if (!context_.may_start()) return finish(Abandoned{});
  prepare();
}

void ExecRun::prepare() {
  const bool posted = context_.pool().post(
      job_->spec_blob || job_->input ? Queue::kLarge : Queue::kQuick,
      [weak = weak_from_this(), weak_loop = context_.weak_loop(), &store = context_.store(), job = job_,
       exec_context = exec_context_] {
        auto command = std::make_shared<base::Result<PreparedCommand>>(
            guarded("exec", [&] { return prepared_command(store, *job, exec_context->options.secret_key); }));
        post(weak_loop, weak, [command](ExecRun& run) { run.prepared(std::move(*command)); });
      });
  if (!posted) retry_later([](ExecRun& run) { run.prepare(); });
}

void ExecRun::prepared(base::Result<PreparedCommand> command) {
  if (!is_running()) return;
  if (!command) return refused(command.error());
  run(std::make_shared<PreparedCommand>(std::move(*command)));
}

// The command has not begun. Temporary errors are retried: by another attempt if the job allows one, else a
// few times by this one. A limit of ours is waited for; without another attempt, for as long as it lasts.
void ExecRun::refused(const base::Error& error) {
  const bool may_run_again = job_->rerun == schemas::Rerun::kAtLeastOnce;
  if (jobs::is_local_limit(error) && (!may_run_again || input_retries_.may_retry()))
    return retry_later([](ExecRun& run) { run.prepare(); });
  log_job(base::LogLevel::kWarn, "exec_not_prepared", *job_, {{"why", error.message}});
  if (base::info(error.code).retry == base::RetryClass::kPermanent) return finish(failed(error));
  if (may_run_again) return finish(Retry{error});
  if (error.code == Code::kInternal && preparation_retries_ < kPreparationRetriesMax)
    return retry_later([](ExecRun& run) { run.prepare(); }, kStepRetryDelay * (1 << preparation_retries_++));
  finish(failed(base::error(Code::kHostAgentFailed, "the host could not prepare the command")));
}

void ExecRun::run(const PreparedPtr& prepared) {
  if (!context_.may_start()) return finish(Abandoned{});
  machines::CommandRequest& request = prepared->request;
  timeout_ = request.timeout;
  request.output_grace = exec_context_->options.output_grace;
  machine_ = request.machine.id;
  const WeakLoop weak_loop = context_.weak_loop();
  const std::weak_ptr<ExecRun> weak = weak_from_this();
  ExecCommand::Hooks hooks{
      .start_allowed = context_.start_check(),
      .output = [weak_loop, weak] { post(weak_loop, weak, [](ExecRun& run) { run.write_output(); }); },
      .ended =
          [weak_loop, weak](std::shared_ptr<ExecResult> end) {
            post(weak_loop, weak, [end = std::move(end)](ExecRun& run) { run.command_ended(end); });
          }};
  try {
    command_ = std::make_unique<ExecCommand>(exec_context_, context_.store(), *prepared, std::move(hooks));
  } catch (const std::system_error&) {
    log_job(base::LogLevel::kWarn, "exec_thread_refused", *job_);
    retry_later([prepared](ExecRun& run) { run.run(prepared); });
  }
}

void ExecRun::write_output() {
  if (finished_ || writing_) return;
  auto events = command_->output().take();
  if (events.empty()) return end_when_stored();
  writing_ = true;
  context_.write_events(std::move(events), [weak = weak_from_this()](bool lease_held) {
    const auto self = weak.lock();
    if (self) self->run_step([lease_held](ExecRun& run) { run.written(lease_held); });
  });
}

void ExecRun::written(bool lease_held) {
  if (finished_) return;
  writing_ = false;
  if (!lease_held) {
    lost_ = true;
    command_->kill();
  }
  write_output();
}

void ExecRun::command_ended(const std::shared_ptr<ExecResult>& end) {
  if (finished_) return;
  result_ = end;
  log_failure(end->command);
  command_->output().close();
  if (lease_lost() || fault_) return end_when_stored();
  write_output();
}

void ExecRun::log_failure(const machines::CommandResult& end) const {
  if (end.how != How::kHostFailed && end.how != How::kNotRoutable) return;
  log_job(base::LogLevel::kError, "exec_host_failed", *job_,
          {{"machine", schemas::machine_id(machine_)}, {"why", end.message}, {"detail", end.detail}});
}

// Ends the job when its command has ended and all output and artifacts are in the store.
void ExecRun::end_when_stored() {
  if (finished_ || !result_) return;
  if (lease_lost()) return finish(Abandoned{});
  if (fault_) return finish(failed(*fault_));
  if (write_artifacts() || write_warnings()) return;
  finish(exec_outcome(result_->command, command_->output().sizes(), stop_, timeout_));
}

// False: there are no artifacts. If the store refuses them permanently, they are dropped: the job ends
// without them, and the write of its outcome shows whether the lease was held.
bool ExecRun::write_artifacts() {
  auto files = std::exchange(result_->artifacts.files, {});
  if (files.empty()) return false;
  writing_ = true;
  context_.write_artifacts(machine_, std::move(files), [weak = weak_from_this()](bool lease_held) {
    const auto self = weak.lock();
    if (!self) return;
    self->run_step([lease_held](ExecRun& run) {
      if (!lease_held) log_job(base::LogLevel::kWarn, "artifacts_refused", *run.job_);
      run.writing_ = false;
      run.end_when_stored();
    });
  });
  return true;
}

// Writes all warnings as events. False: there are none.
bool ExecRun::write_warnings() {
  std::vector<std::string> warnings = std::exchange(result_->command.warnings, {});
  if (result_->command.output_open && !std::exchange(open_output_reported_, true)) {
    warnings.push_back("a process still held the output open " +
                       std::to_string(exec_context_->options.output_grace.count()) +
                       " ms after the command's end and was killed (exec.output_grace)");
  }
  const std::string note = std::exchange(result_->artifacts.note, {});
  if (!note.empty()) {
    log_job(base::LogLevel::kWarn, "artifacts_skipped", *job_, {{"why", note}});
    warnings.push_back(note);
  }
  if (warnings.empty()) return false;
  std::vector<storage::JobOutcomes::Event> events;
  for (const std::string& warning : warnings)
    events.push_back({std::string(schemas::kWarning), schemas::warning_event_data(warning)});
  writing_ = true;
  context_.write_events(std::move(events), [weak = weak_from_this()](bool lease_held) {
    const auto self = weak.lock();
    if (self) self->run_step([lease_held](ExecRun& run) { run.written(lease_held); });
  });
  return true;
}

// Commands that never ran, or that were not followed to their end, report sizes too.
Fail ExecRun::failed(base::Error error) const {
  const auto sizes = command_ ? command_->output().sizes() : schemas::ExecutionResult{};
  return {std::move(error), {schemas::to_json(sizes), nullptr}};
}

ExecCommand::ExecCommand(std::shared_ptr<ExecContext> exec_context, storage::Store& store,
                         PreparedCommand prepared, Hooks hooks)
    : exec_context_(std::move(exec_context)),
      store_(store),
      request_(std::move(prepared.request)),
      output_file_(std::move(prepared.output_file)),
      hooks_(std::move(hooks)),
      output_({.kept_max = exec_context_->options.output_max,
               .block_until = std::chrono::steady_clock::now() + request_.timeout},
              hooks_.output) {
  if (stop_.fd() < 0)
    throw std::system_error(EMFILE, std::generic_category(), "creating a command's cancel descriptor");
  exec_context_->slots.enter();
  try {
    thread_ = std::jthread([this] { run(); });
  } catch (...) {
    exec_context_->slots.leave();
    throw;
  }
}

ExecCommand::~ExecCommand() { kill(); }

void ExecCommand::stop() {
  stop_.stop();
  output_.stop_blocking();
}

void ExecCommand::kill() {
  stop_.kill();
  output_.discard();
}

void ExecCommand::run() {
  pthread_setname_np(pthread_self(), "exec");
  const std::shared_ptr<ExecContext> exec_context = exec_context_;
  auto end = std::make_shared<ExecResult>();
  end->command = run_to_end();
  end->artifacts = stage(end->command);
  if (received_) stage_output_file(*end);
  hooks_.ended(std::move(end));
  exec_context->slots.leave();
}

void ExecCommand::take_output(schemas::OutputStream stream, std::string_view bytes) {
  if (!received_ || stream != schemas::OutputStream::kStdout) return output_.add(stream, bytes);
  if (received_->good() && !received_->add(bytes)) stop_.stop();
}

machines::CommandResult ExecCommand::run_to_end() {
  if (!output_file_.empty())
    received_ = std::make_unique<ReceivedFile>(store_, stored_bytes_left(store_, request_.execution));
  const machines::CommandHooks hooks{
      .output = [this](schemas::OutputStream stream, std::string_view bytes) { take_output(stream, bytes); },
      .start_allowed = hooks_.start_allowed,
      .on_ending = [this] { output_.stop_blocking(); }};
  auto end = guarded("command", [&]() -> base::Result<machines::CommandResult> {
    return exec_context_->run(request_, stop_, hooks);
  });
  if (end) return std::move(*end);
  machines::CommandResult failed;
  failed.how = machines::CommandResult::How::kHostFailed;
  failed.message = "the host could not run the command";
  failed.detail = end.error().message;
  return failed;
}

namespace {

constexpr int kNiceLowest = 19;

// For this thread, which hashes up to gigabytes of files and then ends: requests and other tenants go first.
void yield_processor() { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceLowest); }

}  // namespace

StagedArtifacts ExecCommand::stage(machines::CommandResult& end) {
  if (!end.artifacts.empty()) yield_processor();
  auto staged = guarded("artifacts", [&]() -> base::Result<StagedArtifacts> {
    return stage_artifacts(store_, request_.execution, end, stop_);
  });
  if (staged) return *std::move(staged);
  return {.files = {}, .note = "the command's files could not be kept"};
}

namespace {

// The end of a command whose output could not be stored, whatever its own end was: at a limit of the store or
// of its owners, or by a failure of the host.
machines::CommandResult not_stored(const base::Error& error) {
  if (error.code == Code::kInternal) return machines::make_result(How::kHostFailed, error.message);
  machines::CommandResult end = machines::make_result(How::kStopped, error.message);
  end.limit = error;
  return end;
}

}  // namespace

void ExecCommand::stage_output_file(ExecResult& end) {
  const bool whole = end.command.how == How::kExited && end.command.exit_code == 0;
  if (!whole && received_->good()) return;
  auto file = guarded("output file", [&] { return received_->finish(output_file_, stop_); });
  if (file) return end.artifacts.files.push_back(*std::move(file));
  if (stop_.killed()) return;
  end.command = not_stored(file.error());
}

ExecRunner::ExecRunner(Drivers drivers, Options options)
    : ExecRunner(
          [drivers = std::move(drivers)](const machines::CommandRequest& request,
                                         const machines::CancelToken& stop,
                                         const machines::CommandHooks& hooks) {
            machines::Driver* driver = drivers(request.machine.driver);
            if (driver) return driver->run(request, stop, hooks);
            machines::CommandResult end;
            end.how = machines::CommandResult::How::kNotRoutable;
            end.message = no_such_driver(request.machine.driver).message;
            return end;
          },
          std::move(options)) {}

ExecRunner::ExecRunner(RunCommand run, Options options)
    : exec_context_(std::make_shared<ExecContext>(std::move(run), std::move(options))) {}

ExecRunner::~ExecRunner() { exec_context_->slots.wait_until_empty(); }

std::shared_ptr<Run> ExecRunner::start(const storage::ClaimedJob& job, AttemptContext& context, Ended ended) {
  auto run = std::make_shared<ExecRun>(job, context, exec_context_, std::move(ended));
  run->begin();
  return run;
}

}  // namespace millrace::workers

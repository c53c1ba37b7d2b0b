#pragma once
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "machines/driver.h"
#include "platform/base/result.h"
#include "storage/jobs/job_claims.h"
#include "storage/jobs/job_outcomes.h"
#include "storage/store.h"
#include "workers/exec/exec_output.h"
#include "workers/exec/exec_runner.h"
#include "workers/jobs/slot_threads.h"

namespace millrace::workers {

// The artifacts of a command, ready to be written to the store.
struct StagedArtifacts {
  std::vector<storage::JobOutcomes::NewArtifact> files;
  std::string note;  // for the client: which files were not kept; empty: all were kept
};

// Copies the files of `end` into blobs, up to the limits of schemas/machines/artifact.h. Files that a limit
// or a full disk excludes are left out and listed in the note. Returns early when `stop` requests a kill.
// Blocks on the disk.
StagedArtifacts stage_artifacts(storage::Store& store, machines::CommandResult& end,
                                const machines::CancelToken& stop);

// Builds the command of a job of kind exec from its spec, its input, its decrypted environment and its
// machine's row. Blocks on the store. kMachineNotFound, kHostAgentFailed: the job can never run here.
// kOverloaded: retry.
base::Result<machines::CommandRequest> command_request(storage::Store& store, const storage::Claimed& job,
                                                       const std::string& secret_key);

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
  StagedArtifacts kept;
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
  ExecCommand(std::shared_ptr<ExecContext> exec_context, storage::Store& store,
              machines::CommandRequest order, Hooks hooks);
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
  StagedArtifacts keep(machines::CommandResult& end);

  const std::shared_ptr<ExecContext> exec_context_;
  storage::Store& store_;
  const machines::CommandRequest order_;
  const Hooks hooks_;
  machines::CancelToken stop_;
  ExecOutput output_;
  std::jthread thread_;
};

}  // namespace millrace::workers

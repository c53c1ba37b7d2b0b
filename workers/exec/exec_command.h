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

// What a command has left, on its way into the store.
struct KeptArtifacts {
  std::vector<storage::JobOutcomes::NewArtifact> files;
  std::string note;  // what was not kept, for the client; empty: nothing
};

// Copies the files of `end` into blobs, as many as schemas/machines/artifact.h allows; what a full disk or a
// bound refuses is left out and stands in the note. Ends early once `stop` says kill. Blocks on the disk.
KeptArtifacts keep_artifacts(storage::Store& store, machines::CommandEnd& end,
                             const machines::CancelToken& stop);

// The command of a job of kind exec: its spec, its input, its environment out of the seal, its machine's row.
// Blocks on the store. kMachineNotFound, kHostAgentFailed: the job can never run here; kOverloaded: try
// again.
base::Result<machines::CommandRequest> command_order(storage::Store& store, const storage::Claimed& job,
                                                     const std::string& secret_key);

// What all runs of a runner share.
struct ExecContext {
  ExecContext(RunCommand r, ExecRunner::Options o) : run(std::move(r)), options(std::move(o)) {}
  const RunCommand run;
  const ExecRunner::Options options;
  SlotThreads slots;
};

// A command's end; the files that it left are in the store's blobs.
struct ExecEnd {
  machines::CommandEnd command;
  KeptArtifacts kept;
};

// One command on a thread of its own.
class ExecCommand {
 public:
  // All on the command's thread; `ended` is the last thing that it does.
  struct Hooks {
    std::function<bool()> may_go;  // asked directly before the command begins
    std::function<void()> output;  // there is something to take
    std::function<void(std::shared_ptr<ExecEnd>)> ended;
  };

  // std::system_error: no thread or descriptor is left for it, and the command has not begun.
  ExecCommand(std::shared_ptr<ExecContext> exec_context, storage::Store& store,
              machines::CommandRequest order, Hooks hooks);
  // Kills what still runs and waits for its thread.
  ~ExecCommand();
  ExecCommand(const ExecCommand&) = delete;
  ExecCommand& operator=(const ExecCommand&) = delete;

  // SIGTERM, a grace, SIGKILL.
  void stop();
  // SIGKILL; what it wrote is dropped.
  void kill();
  ExecOutput& output() { return output_; }

 private:
  void run();
  machines::CommandEnd run_to_end();
  KeptArtifacts keep(machines::CommandEnd& end);

  const std::shared_ptr<ExecContext> exec_context_;
  storage::Store& store_;
  const machines::CommandRequest order_;
  const Hooks hooks_;
  machines::CancelToken stop_;
  ExecOutput output_;
  std::jthread thread_;
};

}  // namespace millrace::workers

#pragma once
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "workers/exec_artifacts.h"
#include "workers/exec_output.h"
#include "workers/exec_runner.h"
#include "workers/slot_threads.h"

namespace millrace::workers {

// What all runs of a runner share.
struct ExecShop {
  ExecShop(RunCommand r, ExecRunner::Options o) : run(std::move(r)), options(std::move(o)) {}
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
  ExecCommand(std::shared_ptr<ExecShop> shop, storage::Store& store, machines::CommandOrder order,
              Hooks hooks);
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

  const std::shared_ptr<ExecShop> shop_;
  storage::Store& store_;
  const machines::CommandOrder order_;
  const Hooks hooks_;
  machines::StopSwitch stop_;
  ExecOutput output_;
  std::jthread thread_;
};

}  // namespace millrace::workers

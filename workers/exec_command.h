#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "workers/exec_output.h"
#include "workers/exec_runner.h"

namespace millrace::workers {

// The threads that run commands. Thread-safe.
class ExecSlots {
 public:
  void enter();
  void leave();
  void wait_until_empty();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int taken_ = 0;
};

// What all runs of a runner share.
struct ExecShop {
  ExecShop(RunCommand r, ExecRunner::Options o) : run(std::move(r)), options(std::move(o)) {}
  const RunCommand run;
  const ExecRunner::Options options;
  ExecSlots slots;
};

// One command on a thread of its own.
class ExecCommand {
 public:
  // Both on the command's thread; `ended` is the last thing that it does.
  struct Hooks {
    std::function<void()> output;  // there is something to take
    std::function<void(machines::CommandEnd)> ended;
  };

  // std::system_error: no thread or descriptor is left for it, and the command has not begun.
  ExecCommand(std::shared_ptr<ExecShop> shop, machines::CommandOrder order, Hooks hooks);
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

  const std::shared_ptr<ExecShop> shop_;
  const machines::CommandOrder order_;
  const Hooks hooks_;
  machines::StopSwitch stop_;
  ExecOutput output_;
  std::jthread thread_;
};

}  // namespace millrace::workers

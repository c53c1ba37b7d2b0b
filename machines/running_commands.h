#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "machines/driver.h"
#include "platform/base/fd.h"
#include "platform/base/ids.h"

namespace millrace::machines {

class RunningCommand;

// Tracks the commands that run on the machines of this process, so other threads can end them. Thread-safe.
// Must outlive all its entries.
class RunningCommands {
 public:
  // Registers a command. Call it before anything of the machine is touched, and keep the returned object
  // until nothing of the command is left. `on_end` is called by each `end`, on the thread of that call. It
  // must not block and must not call this object.
  std::unique_ptr<RunningCommand> begin(const base::Uuid& machine, std::function<void()> on_end = {});
  // Registers a child process that another object owns. `end` kills it too.
  void add_resident(const base::Uuid& machine, base::Fd pidfd);

  // Ends all commands and residents of the machine.
  void end(const base::Uuid& machine, const std::string& reason);
  // Waits until nothing runs on the machine. True: nothing is left; false: the limit was reached.
  bool ended(const base::Uuid& machine, std::chrono::milliseconds limit);
  bool any(const base::Uuid& machine);

 private:
  friend class RunningCommand;
  struct OfMachine {
    std::list<RunningCommand*> commands;
    std::vector<base::Fd> residents;
  };
  void forget(RunningCommand* command);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<base::Uuid, OfMachine> machines_;
};

// One registered command.
class RunningCommand {
 public:
  ~RunningCommand() { registry_.forget(this); }
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  // Becomes readable when the command has to end, and stays readable.
  int end_fd() const { return end_.fd(); }
  // The reason passed to `end`. Empty: `end` was not called.
  std::string end_reason() const;

 private:
  friend class RunningCommands;
  RunningCommand(RunningCommands& registry, const base::Uuid& machine, std::function<void()> on_end)
      : registry_(registry), machine_(machine), on_end_(std::move(on_end)) {}
  RunningCommands& registry_;
  const base::Uuid machine_;
  const std::function<void()> on_end_;
  CancelToken end_;
  std::string reason_;
};

}  // namespace millrace::machines

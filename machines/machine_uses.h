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

// What runs on the machines of this process, so that it can be ended from outside. Thread-safe; outlives all
// uses.
class MachineUses {
 public:
  class Use;

  // From before anything of the machine is touched until nothing of the command is left. `on_end`: with each
  // `end`, on its thread; it must neither block nor come back here.
  std::unique_ptr<Use> begin(const base::Uuid& machine, std::function<void()> on_end = {});
  // A child that somebody else owns; it is killed with the others.
  void add_resident(const base::Uuid& machine, base::Fd pidfd);

  // Tells all of the machine to end.
  void end(const base::Uuid& machine, const std::string& reason);
  // And waits: true if nothing of it is left.
  bool ended(const base::Uuid& machine, std::chrono::milliseconds limit);
  bool any(const base::Uuid& machine);

 private:
  struct OfMachine {
    std::list<Use*> commands;
    std::vector<base::Fd> residents;
  };
  void forget(Use* use);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<base::Uuid, OfMachine> machines_;
};

class MachineUses::Use {
 public:
  ~Use() { uses_.forget(this); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

  // Readable once it is to end; for good.
  int fd() const { return end_.fd(); }
  // Why; empty: nobody told it.
  std::string reason() const;

 private:
  friend class MachineUses;
  Use(MachineUses& uses, const base::Uuid& machine, std::function<void()> on_end)
      : uses_(uses), machine_(machine), on_end_(std::move(on_end)) {}
  MachineUses& uses_;
  const base::Uuid machine_;
  const std::function<void()> on_end_;
  CancelToken end_;
  std::string reason_;
};

}  // namespace millrace::machines

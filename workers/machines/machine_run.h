#pragma once
#include <memory>
#include <optional>
#include <thread>

#include "workers/jobs/slot_threads.h"
#include "workers/machines/machine_runner.h"

namespace millrace::workers {

// Shared by all runs of a runner.
struct MachineRunner::Context {
  explicit Context(Dependencies h) : dependencies(std::move(h)) {}
  const Dependencies dependencies;
  SlotThreads slots;
};

// One attempt at an act, which runs on a dedicated thread. Loop thread only.
class MachineRun final : public Run, public std::enable_shared_from_this<MachineRun> {
 public:
  MachineRun(AttemptContext& context, std::shared_ptr<MachineRunner::Context> runner_context,
             Runner::Ended ended);
  // Stops the act and joins its thread.
  ~MachineRun() override;
  void begin(const storage::Claimed& job);
  void stop(Stop why) override;

 private:
  void run(const schemas::ActSpec& spec);
  void ended(Outcome outcome);
  void end(Outcome outcome);

  AttemptContext& context_;
  const std::shared_ptr<MachineRunner::Context> runner_context_;
  Runner::Ended ended_;
  machines::CancelToken cancel_token_;
  std::optional<Stop> stop_;
  bool over_ = false;
  std::jthread thread_;
};

}  // namespace millrace::workers

#pragma once
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "storage/machines/machines.h"
#include "tests/unit/workers/worker_fixture.h"
#include "workers/machines/machine_run.h"

namespace millrace::workers {

// A fake driver that follows the test's settings and records its calls.
class FakeDriver final : public machines::Driver {
 public:
  machines::CommandResult run(const machines::CommandRequest&, const machines::CancelToken&,
                              const machines::CommandHooks&) override {
    return {};
  }
  base::Result<schemas::MachineFacts> start(const schemas::Machine& machine,
                                            const machines::CancelToken& told) override;
  base::Status stop(const schemas::Machine& machine, const machines::CancelToken& told) override;
  base::Status destroy(const schemas::Machine& machine, const machines::CancelToken& told) override;

  std::vector<std::string> asked() const;
  void note(std::string what);
  std::optional<base::Error> start_error;  // returned before the operation begins

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
};

// A machine in a store, and the runner of its operations without a worker.
class MachineFixture {
 public:
  MachineFixture();
  ~MachineFixture();

  // Adds the test's machine with this wake rule.
  void add_machine(std::optional<schemas::WakeRule> wake = {});
  // Begins one attempt of the operation.
  class Attempted;
  std::unique_ptr<Attempted> begin(schemas::MachineAct act);
  Outcome act(schemas::MachineAct act);
  // Starts an execution on the machine.
  storage::Lease run_execution();
  void end_execution(const storage::Lease& lease);

  WorkerFixture fixture{{.with_worker = false}};
  net::Loop loop{"acts"};
  net::Loop other_loop{"wake"};
  process::Spawner spawner;
  FakeDriver driver;
  bool has_driver = true;
  net::HttpClient http{other_loop};
  std::unique_ptr<MachineRunner> runner;
  schemas::Machine machine;
  std::atomic<bool> may_start{true};
};

class MachineFixture::Attempted final : public AttemptContext {
 public:
  Attempted(MachineFixture& fixture, schemas::MachineAct act);
  ~Attempted() override;
  Outcome outcome();  // waits for the outcome
  bool is_over();
  void stop(StopReason why);

  storage::Store& store() override { return *fixture_.fixture.store; }
  base::Pool& pool() override { return fixture_.fixture.pool; }
  net::Loop& loop() override { return fixture_.loop; }
  const WeakLoop& weak_loop() const override { return weak_loop_; }
  const WorkerMetrics& metrics() const override { return metrics_; }
  bool may_start() const override { return true; }
  std::function<bool()> start_check() const override {
    return [&fixture = fixture_] { return fixture.may_start.load(); };
  }
  void write_parts(std::vector<storage::JobOutcomes::Part>, std::chrono::milliseconds,
                   LeaseCallback) override {}
  void write_events(std::vector<storage::JobOutcomes::Event>, LeaseCallback) override {}
  void write_call(storage::JobOutcomes::ModelCall, LeaseCallback) override {}
  void set_used(schemas::Charge) override {}
  void write_artifacts(base::Uuid, std::vector<storage::JobOutcomes::NewArtifact>, LeaseCallback) override {}
  void set_progress_total(int, LeaseCallback) override {}
  void attach_input(storage::Staged, LeaseCallback) override {}

 private:
  MachineFixture& fixture_;
  WeakLoop weak_loop_;
  WorkerMetrics metrics_;
  std::promise<Outcome> ended_;
  std::future<Outcome> outcome_;
  std::shared_ptr<Run> run_;  // used on the loop's thread
};

}  // namespace millrace::workers

#include "tests/unit/workers/machine_house.h"

#include <stdexcept>

#include "storage/jobs/job_intake.h"

namespace millrace::workers {

base::Result<schemas::MachineFacts> FakeDriver::start(const schemas::Machine&, const machines::StopSwitch&) {
  note("start");
  if (start_error) return *start_error;
  return schemas::MachineFacts{"cgroup-v2", "image"};
}

base::Status FakeDriver::stop(const schemas::Machine&, const machines::StopSwitch&) {
  note("stop");
  return {};
}

base::Status FakeDriver::destroy(const schemas::Machine&, const machines::StopSwitch&) {
  note("destroy");
  return {};
}

void FakeDriver::note(std::string what) {
  const std::lock_guard lock(mutex_);
  asked_.push_back(std::move(what));
}

std::vector<std::string> FakeDriver::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

MachineHouse::MachineHouse() {
  runner = std::make_unique<MachineRunner>(MachineRunner::House{
      .driver = [this](schemas::MachineDriver) { return has_driver ? &driver : nullptr; },
      .spawner = spawner,
      .http = http,
      .open_ssh =
          [](const schemas::Machine&) {
            return schemas::SshEndpoint{"127.0.0.1", 2201, {}};
          },
      .close_ssh = [this](const base::Uuid&) { driver.note("close_ssh"); }});
}

MachineHouse::~MachineHouse() {
  loop.stop();
  runner.reset();
}

void MachineHouse::add_machine(std::optional<schemas::WakeRule> wake) {
  const base::WallTime now = house.clock->wall();
  machine.id = base::Uuid::make(now);
  machine.tenant = "default";
  machine.name = "build-7";
  machine.source = schemas::MachineSource::kFile;
  machine.settings.wake = std::move(wake);
  Answer<int> taken;
  storage::Machines(*house.store)
      .apply_config_file({machine}, {{schemas::Kind::kMachine, base::Uuid::make(now)}}, taken.take());
  if (const auto made = taken.wait(); !made) throw std::runtime_error(made.error().message);
}

std::unique_ptr<MachineHouse::Attempted> MachineHouse::begin(schemas::MachineAct act) {
  return std::make_unique<Attempted>(*this, act);
}

Outcome MachineHouse::act(schemas::MachineAct act) { return begin(act)->outcome(); }

storage::Lease MachineHouse::run_execution() {
  storage::Submission wanted;
  wanted.id = {schemas::Kind::kExec, base::Uuid::make(house.clock->wall())};
  wanted.tenant = "default";
  wanted.spec = "{}";
  wanted.lane_key = schemas::machine_id(machine.id);
  Answer<storage::Submitted> submitted;
  storage::JobIntake(*house.store).submit(std::move(wanted), submitted.take());
  if (!submitted.wait()) throw std::runtime_error("the execution was not taken");
  Answer<std::vector<storage::Claimed>> claimed;
  storage::JobClaims(*house.store)
      .claim({.kind = schemas::Kind::kExec, .worker = "w", .hints = {}}, claimed.take());
  return claimed.wait()->at(0).lease;
}

void MachineHouse::end_execution(const storage::Lease& lease) {
  Answer<storage::Applied> ended;
  storage::JobOutcomes(*house.store).finish(lease, {"{}", nullptr}, ended.take());
  if (!ended.wait()) throw std::runtime_error("the execution did not end");
}

MachineHouse::Attempted::Attempted(MachineHouse& house, schemas::MachineAct act)
    : house_(house), link_(house.loop), metrics_(house.house.metrics), outcome_(ended_.get_future()) {
  house.loop.post([this, act] {
    storage::Claimed job;
    job.lease.job = {schemas::Kind::kMachine, base::Uuid::make(house_.house.clock->wall())};
    job.spec = schemas::to_json(schemas::ActSpec{house_.machine.id, act});
    run_ =
        house_.runner->start(job, *this, [this](Outcome outcome) { ended_.set_value(std::move(outcome)); });
  });
}

MachineHouse::Attempted::~Attempted() {
  std::promise<void> gone;
  house_.loop.post([&] {
    run_.reset();
    gone.set_value();
  });
  gone.get_future().wait();
}

Outcome MachineHouse::Attempted::outcome() {
  if (outcome_.wait_for(support::kDeadline) != std::future_status::ready) {
    throw std::runtime_error("the act did not end");
  }
  return outcome_.get();
}

bool MachineHouse::Attempted::is_over() {
  return outcome_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void MachineHouse::Attempted::stop(Stop why) {
  house_.loop.post([this, why] {
    if (run_) run_->stop(why);
  });
}

}  // namespace millrace::workers

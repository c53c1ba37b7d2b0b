#include "tests/unit/workers/machine_fixture.h"

#include <stdexcept>

#include "storage/jobs/job_intake.h"

namespace millrace::workers {

base::Result<schemas::MachineFacts> FakeDriver::start(const schemas::Machine&, const machines::CancelToken&) {
  note("start");
  if (start_error) return *start_error;
  return schemas::MachineFacts{"cgroup-v2", "image"};
}

base::Status FakeDriver::stop(const schemas::Machine&, const machines::CancelToken&) {
  note("stop");
  return {};
}

base::Status FakeDriver::destroy(const schemas::Machine&, const machines::CancelToken&) {
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

MachineFixture::MachineFixture() {
  runner = std::make_unique<MachineRunner>(MachineRunner::Dependencies{
      .driver = [this](schemas::MachineDriver) { return has_driver ? &driver : nullptr; },
      .spawner = spawner,
      .http = http,
      .open_ssh =
          [](const schemas::Machine&) {
            return schemas::SshEndpoint{"127.0.0.1", 2201, {}};
          },
      .close_ssh = [this](const base::Uuid&) { driver.note("close_ssh"); }});
}

MachineFixture::~MachineFixture() {
  loop.stop();
  runner.reset();
}

void MachineFixture::add_machine(std::optional<schemas::WakeRule> wake) {
  const base::WallTime now = fixture.clock->wall();
  machine.id = base::Uuid::make(now);
  machine.tenant = "default";
  machine.name = "build-7";
  machine.source = schemas::MachineSource::kFile;
  machine.settings.wake = std::move(wake);
  Answer<int> taken;
  storage::Machines(*fixture.store)
      .apply_config_file({machine}, {{schemas::Kind::kMachine, base::Uuid::make(now)}}, taken.take());
  if (const auto made = taken.wait(); !made) throw std::runtime_error(made.error().message);
}

std::unique_ptr<MachineFixture::Attempted> MachineFixture::begin(schemas::MachineAct act) {
  return std::make_unique<Attempted>(*this, act);
}

Outcome MachineFixture::act(schemas::MachineAct act) { return begin(act)->outcome(); }

storage::Lease MachineFixture::run_execution() {
  storage::Submission wanted;
  wanted.id = {schemas::Kind::kExec, base::Uuid::make(fixture.clock->wall())};
  wanted.tenant = "default";
  wanted.spec = "{}";
  wanted.lane_key = schemas::machine_id(machine.id);
  Answer<storage::Submitted> submitted;
  storage::JobIntake(*fixture.store).submit(std::move(wanted), submitted.take());
  if (!submitted.wait()) throw std::runtime_error("the execution was not accepted");
  Answer<std::vector<storage::ClaimedJob>> claimed;
  storage::JobClaims(*fixture.store).claim({.kind = schemas::Kind::kExec, .worker = "w"}, claimed.take());
  return claimed.wait()->at(0).lease;
}

void MachineFixture::end_execution(const storage::Lease& lease) {
  Answer<storage::ReportResult> ended;
  storage::JobOutcomes(*fixture.store).finish(lease, {"{}", nullptr}, ended.take());
  if (!ended.wait()) throw std::runtime_error("the execution did not end");
}

MachineFixture::Attempted::Attempted(MachineFixture& fixture, schemas::MachineAct act)
    : fixture_(fixture),
      weak_loop_(fixture.loop),
      metrics_(fixture.fixture.metrics),
      outcome_(ended_.get_future()) {
  fixture.loop.post([this, act] {
    storage::ClaimedJob job;
    job.lease.job = {schemas::Kind::kMachine, base::Uuid::make(fixture_.fixture.clock->wall())};
    job.spec = schemas::to_json(schemas::ActSpec{fixture_.machine.id, act});
    run_ =
        fixture_.runner->start(job, *this, [this](Outcome outcome) { ended_.set_value(std::move(outcome)); });
  });
}

MachineFixture::Attempted::~Attempted() {
  std::promise<void> gone;
  fixture_.loop.post([&] {
    run_.reset();
    gone.set_value();
  });
  gone.get_future().wait();
}

Outcome MachineFixture::Attempted::outcome() {
  if (outcome_.wait_for(support::kDeadline) != std::future_status::ready) {
    throw std::runtime_error("the operation did not end");
  }
  return outcome_.get();
}

bool MachineFixture::Attempted::is_over() {
  return outcome_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void MachineFixture::Attempted::stop(StopReason why) {
  fixture_.loop.post([this, why] {
    if (run_) run_->stop(why);
  });
}

}  // namespace millrace::workers

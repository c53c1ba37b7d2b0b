#include <string>

#include "storage/workers/processes.h"
#include "tests/contract/store_contract.h"
#include "tests/unit/storage/machine_store.h"

namespace millrace::storage::testing {
namespace {

base::Result<std::unique_ptr<Store>> sqlite_of_hosts(Store::Options options, const base::Clock& clock) {
  options.host = "alpha";
  return Store::open(std::move(options), clock);
}

base::Result<std::unique_ptr<Store>> postgres_of_hosts(Store::Options options, const base::Clock& clock) {
  options.host = "alpha";
  return open_postgres(std::move(options), clock);
}

// A store that several hosts share; its claims are those of the host `alpha`.
class Hosts : public ::testing::TestWithParam<StoreKind> {
 protected:
  MachineStore s{false, GetParam().open};
  Processes processes{s.store()};

  Process process(const std::string& host, bool runs_machines = false) {
    return {.id = base::Uuid::make(s.clock.wall()),
            .host = host,
            .data_dir = base::Uuid::make(s.clock.wall()),
            .version = "1",
            .serves_api = true,
            .calls_models = !runs_machines,
            .runs_machines = runs_machines};
  }
  base::Result<Installation> report(const Process& own) {
    return await<Installation>([&](auto done) { processes.report(own, done); });
  }
  void leave(const Process& own) {
    EXPECT_TRUE(await<bool>([&](auto done) { processes.leave(own.id, done); }));
  }
  std::optional<std::string> host_of(const base::Uuid& machine) { return s.look(machine).host; }
  base::Uuid create_on(std::optional<std::string> host) {
    auto machine = s.new_machine();
    machine.host = std::move(host);
    EXPECT_TRUE(s.create(machine));
    return machine.id;
  }
};

constexpr StoreKind kStoresOfHosts[] = {{"sqlite", &sqlite_of_hosts}, {"postgresql", &postgres_of_hosts}};
INSTANTIATE_TEST_SUITE_P(Stores, Hosts, ::testing::ValuesIn(kStoresOfHosts),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(Hosts, AProcessCountsUntilItLeavesOrIsSilent) {
  const Process one = process("alpha"), other = process("beta"), third = process("gamma", true);
  EXPECT_EQ(report(one)->api_processes, 1);
  EXPECT_EQ(report(other)->api_processes, 2);
  EXPECT_EQ(report(third)->api_processes, 3);
  EXPECT_EQ(report(one)->model_processes, 2);
  leave(other);
  EXPECT_EQ(report(one)->api_processes, 2);
  s.clock.advance(kProcessTimeout);
  EXPECT_EQ(report(one)->api_processes, 1);
}

TEST_P(Hosts, OneHostMaintainsTheStoreUntilItsLeaseEndsOrItLeaves) {
  const Process one = process("alpha"), other = process("beta"), third = process("gamma");
  EXPECT_TRUE(report(one)->maintains);
  EXPECT_FALSE(report(other)->maintains);
  s.clock.advance(kMaintenanceLease - 1ms);
  EXPECT_FALSE(report(other)->maintains);
  s.clock.advance(1ms);
  EXPECT_TRUE(report(other)->maintains);
  EXPECT_FALSE(report(one)->maintains);
  leave(other);
  EXPECT_TRUE(report(third)->maintains);
}

TEST_P(Hosts, TheLeaseStaysWhileAnotherProcessOfTheHostLives) {
  Process one = process("alpha"), sibling = one;
  sibling.id = base::Uuid::make(s.clock.wall());
  EXPECT_TRUE(report(one)->maintains);
  EXPECT_TRUE(report(sibling)->maintains);
  leave(one);
  EXPECT_FALSE(report(process("beta"))->maintains);
}

TEST_P(Hosts, TheNameOfALivingHostIsRefusedToAnotherDataDirectory) {
  ASSERT_TRUE(report(process("alpha")));
  const auto refused = report(process("alpha"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidState);
  EXPECT_NE(refused.error().message.find("host.name"), std::string::npos);
  s.clock.advance(kProcessTimeout);
  EXPECT_TRUE(report(process("alpha")));
}

TEST_P(Hosts, TheNameOfALivingWorkerIsRefusedOnAnotherHost) {
  const WorkerReport first{"ocr-1", s.incarnation, "beta", "1", {{schemas::Kind::kOcr, 4, 0}}};
  const WorkerReport again{"ocr-1", base::Uuid::make(s.clock.wall()), "beta", "1", {}};
  const WorkerReport elsewhere{"ocr-1", base::Uuid::make(s.clock.wall()), "alpha", "1", {}};
  const WorkerReport other{"ocr-2", base::Uuid::make(s.clock.wall()), "alpha", "1", {}};
  const auto beat = [&](const WorkerReport& worker) {
    return await<HeartbeatReply>([&](auto done) { s.claims().heartbeat(worker, {}, kLease, done); });
  };
  ASSERT_TRUE(beat(first));
  EXPECT_TRUE(processes.add_worker(again));
  EXPECT_TRUE(processes.add_worker(other));
  const base::Status refused = processes.add_worker(elsewhere);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidState);
  s.clock.advance(kProcessTimeout);
  EXPECT_TRUE(processes.add_worker(elsewhere));
  const auto late = beat(first);
  ASSERT_FALSE(late) << "it was silent for too long";
  EXPECT_EQ(late.error().code, Code::kInvalidState);
}

TEST_P(Hosts, AMachineRunsWhereItsOwnerSaysOrOnTheEmptiestHost) {
  ASSERT_TRUE(report(process("alpha", true)));
  ASSERT_TRUE(report(process("beta", true)));
  ASSERT_TRUE(report(process("without-machines")));
  EXPECT_EQ(host_of(create_on("beta")), "beta");
  EXPECT_EQ(host_of(create_on({})), "alpha");
  EXPECT_EQ(host_of(create_on({})), "alpha");
  EXPECT_EQ(host_of(create_on({})), "beta");
  auto machine = s.new_machine();
  machine.host = "without-machines";
  const auto refused = s.create(machine);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidField);
  EXPECT_NE(refused.error().message.find("alpha, beta"), std::string::npos) << refused.error().message;
}

TEST_P(Hosts, AMachineStaysOnItsHost) {
  ASSERT_TRUE(report(process("alpha", true)));
  ASSERT_TRUE(report(process("beta", true)));
  const base::Uuid machine = create_on("beta");
  schemas::MachineChange change;
  change.host = "alpha";
  EXPECT_FALSE(s.change(machine, change));
  change.host = "beta";
  EXPECT_TRUE(s.change(machine, change));
}

TEST_P(Hosts, AHostClaimsTheOperationsAndExecutionsOfItsMachinesAlone) {
  ASSERT_TRUE(report(process("alpha", true)));
  ASSERT_TRUE(report(process("beta", true)));
  const base::Uuid here = create_on("alpha"), there = create_on("beta");
  s.do_act();  // one: that of `here`
  EXPECT_TRUE(s.claim_acts().empty());
  const JobId ours = s.execute(here);
  s.execute(there);
  const auto claimed = s.claim_executions();
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed.front().lease.job, ours);
}

TEST_P(Hosts, AnyHostRunsWhatAMachineOfDriverSshIsAskedFor) {
  ASSERT_TRUE(report(process("beta", true)));
  auto machine = s.new_machine();
  machine.driver = schemas::MachineDriver::kSsh;
  ASSERT_TRUE(s.create(machine));
  s.do_act();
  s.execute(machine.id);
  EXPECT_EQ(s.claim_executions().size(), 1u);
}

TEST_P(Hosts, AMachineWithoutAHostGoesToTheFirstThatRunsMachines) {
  const base::Uuid machine = create_on({});
  s.execute(machine);
  EXPECT_FALSE(host_of(machine));
  EXPECT_TRUE(s.claim_acts().empty());
  ASSERT_TRUE(report(process("without-machines")));
  EXPECT_FALSE(host_of(machine));
  ASSERT_TRUE(report(process("alpha", true)));
  EXPECT_EQ(host_of(machine), "alpha");
  s.do_act();
  EXPECT_EQ(s.claim_executions().size(), 1u);
}

TEST_P(Hosts, AMachineThatIsToBeDestroyedWaitsADayForItsHost) {
  const Process gone = process("beta", true), here = process("alpha", true);
  ASSERT_TRUE(report(gone));
  ASSERT_TRUE(report(here));
  const base::Uuid machine = create_on("beta");
  ASSERT_TRUE(s.submit_command(machine, MachineCommand::kDestroy));
  leave(gone);
  s.clock.advance(std::chrono::hours(23));
  ASSERT_TRUE(report(here));
  EXPECT_EQ(host_of(machine), "beta") << "it was stopped, perhaps for an upgrade";
  s.clock.advance(std::chrono::hours(2));
  ASSERT_TRUE(report(here));
  ASSERT_TRUE(report(here));
  EXPECT_EQ(host_of(machine), "alpha");
}

TEST_P(Hosts, ARestartedProcessReplacesTheRowOfItsPredecessor) {
  for (int start = 0; start < 3; ++start) {
    const Process own = process("alpha", true);
    ASSERT_TRUE(report(own));
    leave(own);
  }
  EXPECT_EQ(processes.list().value().size(), 1u);
}

TEST_P(Hosts, MachinesOfAStoreThatHadOneHostGoWhereTheirDiskIs) {
  const base::Uuid with_disk = create_on({}), elsewhere = create_on({}), without_disk = create_on({});
  auto remote = s.new_machine();
  remote.driver = schemas::MachineDriver::kSsh;
  ASSERT_TRUE(s.create(remote));
  EXPECT_TRUE(await<bool>([&](auto done) {
    submit_write<bool>(
        s.store().writer(), Writer::Priority::kNormal, 0,
        [&](Tx& tx) -> base::Result<bool> {
          tx.db.prepare("UPDATE machines SET host = NULL").run();
          tx.db.prepare("UPDATE machines SET phase = {phase_failed} WHERE id = ?1"_sql)
              .bind(without_disk)
              .run();
          tx.db.prepare("UPDATE machines SET disk = 'image' WHERE id IN (?1, ?2)")
              .bind(with_disk, elsewhere)
              .run();
          return true;
        },
        done);
  }));

  ASSERT_TRUE(report(process("alpha", true)));
  ASSERT_TRUE(
      processes.adopt_machines("alpha", [&](const base::Uuid& machine) { return machine == with_disk; }));
  EXPECT_EQ(host_of(with_disk), "alpha");
  EXPECT_EQ(host_of(without_disk), "alpha");
  EXPECT_EQ(host_of(remote.id), "");
  EXPECT_FALSE(host_of(elsewhere));
}

TEST_P(Hosts, WhatIsLeftOfAMachineWhoseHostIsGoneForADayIsEndedByAnother) {
  ASSERT_TRUE(report(process("beta", true)));
  const base::Uuid machine = create_on("beta"), kept = create_on("beta");
  ASSERT_TRUE(s.submit_command(machine, MachineCommand::kDestroy));
  s.clock.advance(25h);
  const Process own = process("alpha", true);
  ASSERT_TRUE(report(own));
  ASSERT_TRUE(report(own));
  EXPECT_EQ(host_of(machine), "alpha");
  EXPECT_EQ(host_of(kept), "beta");
}

TEST_P(Hosts, ReportsOfBeforeTheClockWentBackAreNoneOfLivingProcesses) {
  const Process one = process("alpha"), other = process("beta");
  s.clock.advance(1h);
  ASSERT_TRUE(report(other)->maintains);
  s.clock.advance(-1h);
  EXPECT_EQ(report(one)->api_processes, 1);
  EXPECT_TRUE(report(one)->maintains);
  EXPECT_TRUE(report(process("beta")));
}

TEST_P(Hosts, TheLockOfADeadWorkerReleasesNoJobOfItsSuccessorOnAnotherHost) {
  const WorkerReport successor{"w-1", s.incarnation, "beta", "1", {{schemas::Kind::kOcr, 4, 0}}};
  ASSERT_TRUE(await<HeartbeatReply>([&](auto done) { s.claims().heartbeat(successor, {}, kLease, done); }));
  const JobId job = s.submit();
  ASSERT_EQ(s.claim(1).size(), 1u);
  EXPECT_EQ(s.release_worker(), 0);
  EXPECT_EQ(s.status(job), JobStatus::kRunning);
}

TEST_P(Hosts, TheHigherPriorityGoesFirstAlsoAmongJobsOfAnyHost) {
  ASSERT_TRUE(report(process("alpha", true)));
  const base::Uuid here = create_on("alpha");
  auto remote = s.new_machine();
  remote.driver = schemas::MachineDriver::kSsh;
  ASSERT_TRUE(s.create(remote));
  for (const auto& act : s.claim_acts()) s.finish(act.lease, schemas::to_json(schemas::ActResult{}));
  const JobId first = s.execute(here);
  Submission urgent = s.execution(remote.id);
  urgent.priority = 5;
  const JobId second = s.submit(urgent);
  const auto claimed = s.claim_executions();
  ASSERT_EQ(claimed.size(), 2u);
  EXPECT_EQ(claimed[0].lease.job, second);
  EXPECT_EQ(claimed[1].lease.job, first);
}

}  // namespace
}  // namespace millrace::storage::testing

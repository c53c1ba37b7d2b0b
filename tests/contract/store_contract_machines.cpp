#include <algorithm>

#include "tests/contract/store_contract.h"
#include "tests/unit/storage/machine_store.h"

namespace millrace::storage::testing {
namespace {

// Jobs that wait for their machine. docs/design/delivery.md lists "wake_in_progress" as a separate state.
class DeliveryOnMachines : public ::testing::TestWithParam<StoreKind> {
 protected:
  MachineStore s{false, GetParam().open};
  base::Uuid machine = s.asleep();
  JobId job = s.execute(machine);

  std::string status() { return std::string(schemas::public_status(s.view(job))); }
};

INSTANTIATE_TEST_SUITE_P(Stores, DeliveryOnMachines, ::testing::ValuesIn(kStores),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(DeliveryOnMachines, ItIsQueuedWhenItsMachineAnswersAndRunsThen) {
  EXPECT_EQ(status(), "wake_in_progress");
  EXPECT_TRUE(s.claim_executions().empty());
  s.do_act();
  EXPECT_EQ(status(), "queued");
  EXPECT_EQ(s.claim_executions().size(), 1u);
  EXPECT_EQ(status(), "running");
}

TEST_P(DeliveryOnMachines, ItFailsWithItsMachine) {
  s.commits().clear();
  s.fail_act({Code::kMachineWakeFailed, "no answer"});
  EXPECT_EQ(status(), "failed");
  EXPECT_EQ(s.view(job).error->code, Code::kMachineWakeFailed);
  EXPECT_TRUE(support::wait_until([&] {
    const auto changes = s.commits().all().changes;
    return std::any_of(changes.begin(), changes.end(), [&](const schemas::JobChange& c) {
      return c.job == job && c.status == JobStatus::kFailed && c.version == 2;
    });
  }));
}

TEST_P(DeliveryOnMachines, ItCanBeCancelledAndExpires) {
  EXPECT_EQ(s.cancel(job)->status, JobStatus::kCancelled);
  job = s.execute(machine);
  s.clock.advance(24h);
  s.expire_deadlines();
  EXPECT_TRUE(is_terminal(s.status(job)));
}

TEST_P(DeliveryOnMachines, ALostActIsDoneAgainAndTheJobStillWaits) {
  s.claim_act();
  s.release_worker();
  EXPECT_EQ(status(), "wake_in_progress");
  s.do_act();
  EXPECT_EQ(status(), "queued");
}

TEST_P(DeliveryOnMachines, NeitherMaintenanceNorATokenStartsIt) {
  s.clock.advance(1min);
  EXPECT_EQ(s.release_due(), 0);
  EXPECT_EQ(s.settle(), 0);
  EXPECT_FALSE(has_ready_jobs(s.store(), schemas::Kind::kExec).value());
  EXPECT_TRUE(s.claim_executions().empty());
  EXPECT_EQ(status(), "wake_in_progress");
}

}  // namespace
}  // namespace millrace::storage::testing

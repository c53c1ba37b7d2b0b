#include "storage/machine_rows.h"

#include "storage/sqlite.h"
#include "tests/unit/storage/job_store.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage::testing {
namespace {

using base::Code;
using schemas::Machine;

class MachineRows : public ::testing::Test {
 protected:
  Machine order(const std::string& tenant = kTenant) {
    Machine m;
    m.id = base::Uuid::make(store_.clock.wall());
    m.tenant = tenant;
    m.name = "builder";
    return m;
  }
  base::Result<Machine> create(Machine m) {
    return await<Machine>([&](auto done) { machines_.create(std::move(m), done); });
  }
  base::Result<Machine> local(const std::string& tenant = kTenant) {
    const auto fresh = base::Uuid::make(store_.clock.wall());
    return await<Machine>([&](auto done) { machines_.ensure_local(tenant, fresh, done); });
  }
  // A row as an act of the machine's lifecycle leaves it.
  void destroy(const base::Uuid& id) {
    ASSERT_TRUE(write(store_.store(), [id](Tx& tx) {
      tx.db.prepare("UPDATE machines SET desired = 2 WHERE id = ?1").bind(id).run();
      return base::Status{};
    }));
  }
  std::vector<base::Uuid> list(int limit, std::optional<base::Uuid> before = {}) {
    std::vector<base::Uuid> ids;
    const auto machines = machines_.list(kTenant, limit, before);
    for (const Machine& m : *machines) ids.push_back(m.id);
    return ids;
  }

  JobStore store_;
  Machines machines_{store_.store()};
};

TEST_F(MachineRows, AMachineIsWhatWasMade) {
  Machine m = order();
  m.driver = schemas::MachineDriver::kSsh;
  m.vcpu = 1.5;
  m.memory_mib = 2048;
  m.storage_gib = 9;
  m.autosleep_seconds = 900;
  m.desired = schemas::MachineState::kSleeping;
  const Machine made = create(m).value();
  for (const Machine& seen : {made, machines_.machine(kTenant, m.id).value()}) {
    EXPECT_EQ(seen.id, m.id);
    EXPECT_EQ(seen.tenant, kTenant);
    EXPECT_EQ(seen.name, "builder");
    EXPECT_EQ(seen.driver, m.driver);
    EXPECT_EQ(seen.vcpu, 1.5);
    EXPECT_EQ(seen.memory_mib, 2048);
    EXPECT_EQ(seen.storage_gib, 9);
    EXPECT_EQ(seen.autosleep_seconds, 900);
    EXPECT_EQ(seen.desired, m.desired);
    EXPECT_EQ(seen.number, 1);
    EXPECT_EQ(seen.created_at, store_.clock.wall());
  }
  EXPECT_EQ(create(m).error().code, Code::kInvalidState) << "its id exists";
}

TEST_F(MachineRows, ANumberIsNeverGivenAgain) {
  const Machine first = create(order()).value();
  const Machine second = create(order("other")).value();
  EXPECT_EQ(first.number, 1);
  EXPECT_EQ(second.number, 2);
  destroy(second.id);
  EXPECT_EQ(create(order()).value().number, 3);
}

TEST_F(MachineRows, ADestroyedMachineAndAnothersAreNotThere) {
  const Machine gone = create(order()).value();
  const Machine others = create(order("other")).value();
  destroy(gone.id);
  EXPECT_EQ(machines_.machine(kTenant, gone.id).error().code, Code::kNotFound);
  EXPECT_EQ(machines_.machine(kTenant, others.id).error().code, Code::kNotFound);
  EXPECT_TRUE(list(9).empty());
}

TEST_F(MachineRows, AListIsNewestFirstAndGoesOnBelowAnId) {
  std::vector<base::Uuid> made;
  for (int i = 0; i < 3; ++i) made.insert(made.begin(), create(order()).value().id);
  EXPECT_EQ(list(9), made);
  EXPECT_EQ(list(2), (std::vector{made[0], made[1]}));
  EXPECT_EQ(list(2, made[1]), std::vector{made[2]});
  EXPECT_TRUE(list(0).empty());
}

TEST_F(MachineRows, TheLocalMachineIsMadeOncePerTenant) {
  const Machine made = local().value();
  EXPECT_EQ(made.name, "local");
  EXPECT_EQ(made.driver, schemas::MachineDriver::kSandbox);
  EXPECT_EQ(local().value().id, made.id);
  store_.reopen();
  Machines again(store_.store());
  const auto fresh = base::Uuid::make(store_.clock.wall());
  const auto found = await<Machine>([&](auto done) { again.ensure_local(kTenant, fresh, done); });
  EXPECT_EQ(found.value().id, made.id);
}

TEST_F(MachineRows, EachTenantHasItsOwnLocalMachine) {
  EXPECT_NE(local().value().id, local("other").value().id);
}

TEST_F(MachineRows, ADestroyedLocalMachineIsNotMadeAgain) {
  destroy(local().value().id);
  EXPECT_EQ(local().error().code, Code::kNotFound);
  EXPECT_TRUE(list(9).empty());
}

}  // namespace
}  // namespace millrace::storage::testing

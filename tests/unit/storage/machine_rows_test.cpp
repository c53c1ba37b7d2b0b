#include "storage/machines/machines.h"
#include "tests/unit/storage/machine_store.h"

namespace millrace::storage::testing {
namespace {

using base::Code;
using schemas::Machine;
using schemas::MachineAct;
using schemas::MachinePhase;
using schemas::MachineState;

base::Result<Machine> local(MachineStore& s, const std::string& tenant = kTenant) {
  const auto fresh = base::Uuid::make(s.clock.wall());
  return await<Machine>([&](auto done) { s.machines().ensure_local(tenant, fresh, s.new_act(), done); });
}

std::vector<base::Uuid> list(MachineStore& s, int limit, std::optional<base::Uuid> before = {}) {
  std::vector<base::Uuid> ids;
  const auto machines = s.machines().list(kTenant, limit, before);
  for (const Machine& m : *machines) ids.push_back(m.id);
  return ids;
}

// Its owner has destroyed it, and its driver has finished.
void destroy(MachineStore& s, const base::Uuid& id) {
  ASSERT_TRUE(s.submit_command(id, MachineCommand::kDestroy));
  s.do_act();
}

TEST(MachineRows, AMachineIsWhatWasMade) {
  MachineStore s;
  Machine m = s.new_machine();
  m.driver = schemas::MachineDriver::kSsh;
  m.vcpu = 1.5;
  m.memory_mib = 2048;
  m.storage_gib = 9;
  m.autosleep_seconds = 900;
  m.settings.network = true;
  EXPECT_EQ(s.create(m)->body, "running/0");
  const Machine seen = s.machines().machine(kTenant, m.id).value();
  EXPECT_EQ(seen.tenant, kTenant);
  EXPECT_EQ(seen.name, "builder");
  EXPECT_EQ(seen.driver, m.driver);
  EXPECT_EQ(seen.vcpu, 1.5);
  EXPECT_EQ(seen.memory_mib, 2048);
  EXPECT_EQ(seen.storage_gib, 9);
  EXPECT_EQ(seen.autosleep_seconds, 900);
  EXPECT_TRUE(seen.settings.network);
  EXPECT_EQ(seen.number, 1);
  EXPECT_EQ(seen.revision, 1);
  EXPECT_EQ(seen.source, schemas::MachineSource::kApi);
  EXPECT_EQ(seen.created_at, s.clock.wall());
  EXPECT_EQ(seen.changed_at, s.clock.wall());
  EXPECT_EQ(seen.progressed_at, s.clock.wall());
  EXPECT_EQ(s.create(m).error().code, Code::kInvalidState) << "the id already exists";
  EXPECT_EQ(s.audited(schemas::machine_id(m.id)), std::vector<std::string>{"machine.create by key-1"});
}

TEST(MachineRows, ANewMachineIsAcceptedUntilItsFirstActIsDone) {
  MachineStore s;
  const Machine m = s.new_machine();
  const IdempotentCall by = s.call();
  s.create(m, by).value();
  EXPECT_EQ(s.look(m.id).phase, MachinePhase::kAccepted);
  const ClaimedJob act = s.claim_act();
  EXPECT_EQ(act.lease.job, by.act);
  EXPECT_EQ(s.act_of(act), MachineAct::kWake);
  s.clock.advance(3s);
  s.finish(act.lease, R"({"limits":"rlimits","disk":"watched"})");
  const Machine seen = s.look(m.id);
  EXPECT_EQ(seen.phase, MachinePhase::kRunning);
  EXPECT_EQ(seen.facts.limits, "rlimits");
  EXPECT_EQ(seen.facts.disk, "watched");
  EXPECT_EQ(seen.changed_at, s.clock.wall());
  EXPECT_GT(seen.revision, 1);
  EXPECT_TRUE(s.claim_acts().empty());
}

TEST(MachineRows, AReadOnlyDiskIsShownUntilItIsWholeAgain) {
  MachineStore s;
  const Machine m = s.new_machine();
  s.create(m).value();
  s.finish(s.claim_act().lease, R"({"limits":"cgroup-v2","disk":"image"})");
  const auto note = [&](bool is_writable) {
    return await<bool>([&](auto done) { s.machines().note_disk(m.id, is_writable, done); }).value();
  };
  EXPECT_FALSE(note(true)) << "nothing changes";
  EXPECT_TRUE(note(false));
  EXPECT_FALSE(note(false));
  EXPECT_EQ(s.look(m.id).facts.disk, schemas::kReadOnlyDisk);
  EXPECT_EQ(s.look(m.id).phase, MachinePhase::kRunning);
  EXPECT_TRUE(note(true));
  EXPECT_EQ(s.look(m.id).facts.disk, "image");
}

TEST(MachineRows, ANumberIsNeverGivenAgain) {
  MachineStore s;
  const base::Uuid first = s.awake();
  const base::Uuid second = s.awake();
  EXPECT_EQ(s.look(first).number, 1);
  EXPECT_EQ(s.look(second).number, 2);
  destroy(s, second);
  EXPECT_EQ(s.look(s.awake()).number, 3);
}

TEST(MachineRows, ADestroyedMachineAndAnothersAreNotThere) {
  MachineStore s;
  const base::Uuid gone = s.awake();
  const Machine others = s.new_machine("other");
  s.create(others).value();
  s.do_act();
  ASSERT_TRUE(s.submit_command(gone, MachineCommand::kDestroy));
  EXPECT_EQ(list(s, 9), std::vector{gone}) << "it is listed until it is destroyed";
  s.do_act();
  EXPECT_EQ(s.machines().machine(kTenant, gone).error().code, Code::kNotFound);
  EXPECT_EQ(s.machines().any(gone).error().code, Code::kNotFound);
  EXPECT_EQ(s.machines().machine(kTenant, others.id).error().code, Code::kNotFound);
  EXPECT_TRUE(s.machines().any(others.id)) << "runners see the machines of every tenant";
  EXPECT_TRUE(list(s, 9).empty());
}

TEST(MachineRows, AListIsNewestFirstAndContinuesBelowAnId) {
  MachineStore s;
  std::vector<base::Uuid> made;
  for (int i = 0; i < 3; ++i) made.insert(made.begin(), s.awake());
  EXPECT_EQ(list(s, 9), made);
  EXPECT_EQ(list(s, 2), (std::vector{made[0], made[1]}));
  EXPECT_EQ(list(s, 2, made[1]), std::vector{made[2]});
  EXPECT_TRUE(list(s, 0).empty());
}

TEST(MachineRows, TheLocalMachineIsMadeOncePerTenant) {
  MachineStore s;
  const Machine made = local(s).value();
  EXPECT_EQ(made.name, "local");
  EXPECT_EQ(made.driver, schemas::MachineDriver::kSandbox);
  EXPECT_EQ(made.source, schemas::MachineSource::kLocal);
  EXPECT_EQ(local(s).value().id, made.id);
  EXPECT_EQ(s.claim_acts().size(), 1u);
  EXPECT_NE(local(s, "other").value().id, made.id);
}

TEST(MachineRows, ADestroyedLocalMachineIsNotMadeAgain) {
  MachineStore s;
  const base::Uuid id = local(s).value().id;
  s.do_act();
  destroy(s, id);
  EXPECT_EQ(local(s).error().code, Code::kNotFound);
  EXPECT_TRUE(list(s, 9).empty());
}

TEST(MachineRows, AChangeIsMadeAndRaisesTheRevision) {
  MachineStore s;
  const base::Uuid id = s.awake();
  const auto before = s.look(id).revision;
  schemas::MachineChange change;
  change.name = "other";
  change.memory_mib = 512;
  change.storage_gib = 8;
  change.autosleep_seconds = 60;
  EXPECT_EQ(s.change(id, change)->body, "running/2");
  const Machine seen = s.look(id);
  EXPECT_EQ(seen.name, "other");
  EXPECT_EQ(seen.memory_mib, 512);
  EXPECT_EQ(seen.storage_gib, 8);
  EXPECT_EQ(seen.autosleep_seconds, 60);
  EXPECT_EQ(seen.vcpu, 1) << "omitted fields keep their values";
  EXPECT_EQ(seen.revision, before + 1);
  EXPECT_EQ(s.audited(schemas::machine_id(id)).back(), "machine.change by key-1");
}

TEST(MachineRows, NoTwoMachinesOfATenantHaveOneName) {
  MachineStore s;
  Machine first = s.new_machine(), second = s.new_machine(), others = s.new_machine("other");
  first.name = second.name = others.name = "twin";
  ASSERT_TRUE(s.create(first, s.call("k")));
  const auto refused = s.create(second);
  EXPECT_EQ(refused.error().code, Code::kInvalidState);
  EXPECT_NE(refused.error().message.find(schemas::machine_id(first.id)), std::string::npos);
  EXPECT_TRUE(s.create(first, s.call("k"))->replayed) << "a repeated call creates no second machine";
  EXPECT_TRUE(s.create(others)) << "another tenant may use the same name";
  second.name = "single";
  ASSERT_TRUE(s.create(second));
  schemas::MachineChange change;
  change.name = "twin";
  EXPECT_EQ(s.change(second.id, change).error().code, Code::kInvalidState);
  EXPECT_TRUE(s.change(first.id, change)) << "a machine may keep its own name";
  EXPECT_EQ(s.look(second.id).name, "single");
}

TEST(MachineRows, AMachineThatIsBeingDestroyedGivesItsNameUp) {
  MachineStore s;
  const base::Uuid going = s.awake();
  ASSERT_TRUE(s.submit_command(going, MachineCommand::kDestroy));
  Machine next = s.new_machine();
  next.name = s.look(going).name;
  EXPECT_TRUE(s.create(next));
}

TEST(MachineRows, NoLocalMachineIsMadeWhereOneIsCalledSo) {
  MachineStore s;
  Machine mine = s.new_machine();
  mine.name = "local";
  s.create(mine).value();
  EXPECT_EQ(local(s).value().id, mine.id);
  EXPECT_EQ(list(s, 9), std::vector{mine.id});
}

TEST(MachineRows, AChangeThatCannotBeIsRefused) {
  MachineStore s;
  const base::Uuid id = s.awake();
  schemas::MachineChange smaller;
  smaller.storage_gib = 3;
  EXPECT_EQ(s.change(id, smaller).error().code, Code::kInvalidState);
  EXPECT_EQ(s.change(base::Uuid::make(s.clock.wall()), {}).error().code, Code::kNotFound);
  IdempotentCall others = s.call();
  others.tenant = "other";
  EXPECT_EQ(s.change(id, {}, others).error().code, Code::kNotFound);
  ASSERT_TRUE(s.submit_command(id, MachineCommand::kDestroy));
  EXPECT_EQ(s.change(id, {}).error().code, Code::kInvalidState) << "it is being destroyed";
}

TEST(MachineRows, ARepeatedCallIsGivenItsFirstReplyAndChangesNothing) {
  MachineStore s;
  const Machine m = s.new_machine();
  const auto made = s.create(m, s.call("k-1", "{}")).value();
  EXPECT_FALSE(made.replayed);
  s.do_act();
  const auto again = s.create(m, s.call("k-1", "{}")).value();
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.body, made.body);
  EXPECT_EQ(s.create(m, s.call("k-1", "{ }")).error().code, Code::kIdempotencyReused);
  schemas::MachineChange change;
  change.name = "a";
  s.change(m.id, change, s.call("k-2")).value();
  change.name = "b";
  EXPECT_TRUE(s.change(m.id, change, s.call("k-2"))->replayed);
  EXPECT_EQ(s.look(m.id).name, "a");
  EXPECT_EQ(s.submit_command(m.id, MachineCommand::kSleep, s.call("k-3"))->body, "sleeping/3");
  s.do_act();
  EXPECT_EQ(s.submit_command(m.id, MachineCommand::kSleep, s.call("k-3"))->body, "sleeping/3");
}

TEST(MachineRows, ARefusedCallKeepsNoReply) {
  MachineStore s;
  const base::Uuid id = s.awake();
  schemas::MachineChange smaller;
  smaller.storage_gib = 1;
  ASSERT_FALSE(s.change(id, smaller, s.call("k")));
  EXPECT_FALSE(s.change(id, {}, s.call("k"))->replayed);
}

TEST(MachineRows, RepliesGoAfterADay) {
  MachineStore s;
  const base::Uuid id = s.awake();
  s.submit_command(id, MachineCommand::kRun, s.call("k")).value();
  const auto drop = [&] { return s.step([&](auto done) { s.machine_maintenance().drop_replies(9, done); }); };
  s.clock.advance(23h);
  EXPECT_EQ(drop(), 0);
  s.clock.advance(1h);
  EXPECT_EQ(drop(), 1);
  EXPECT_FALSE(s.submit_command(id, MachineCommand::kRun, s.call("k"))->replayed);
}

}  // namespace
}  // namespace millrace::storage::testing

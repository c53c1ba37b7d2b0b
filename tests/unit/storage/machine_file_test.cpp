#include "tests/unit/storage/machine_store.h"

// Machines of the configuration file.
namespace millrace::storage::testing {
namespace {

using base::Code;
using schemas::Machine;
using schemas::MachinePhase;

class MachinesOfTheFile : public ::testing::Test {
 protected:
  Machine order(const std::string& name) {
    Machine m = s.new_machine();
    m.name = name;
    return m;
  }
  MachineStore s;
};

TEST_F(MachinesOfTheFile, NewMachinesAreCreatedAndOthersChangedToMatchTheFile) {
  Machine m = order("web");
  EXPECT_EQ(s.take({m}).value(), 1);
  s.do_act();
  EXPECT_EQ(s.look(m.id).source, schemas::MachineSource::kFile);
  EXPECT_EQ(s.take({m}).value(), 0) << "nothing changed";
  m.memory_mib = 4096;
  m.settings.network = true;
  EXPECT_EQ(s.take({m}).value(), 1);
  EXPECT_EQ(s.look(m.id).memory_mib, 4096);
  EXPECT_TRUE(s.look(m.id).settings.network);
  EXPECT_EQ(s.look(m.id).phase, MachinePhase::kRunning);
}

TEST_F(MachinesOfTheFile, TheApiNeitherChangesNorDestroysThem) {
  const Machine m = order("web");
  s.take({m}).value();
  s.do_act();
  EXPECT_EQ(s.change(m.id, {}).error().code, Code::kInvalidState);
  EXPECT_EQ(s.submit_command(m.id, MachineCommand::kDestroy).error().code, Code::kInvalidState);
  EXPECT_TRUE(s.submit_command(m.id, MachineCommand::kSleep)) << "sleep and wake are allowed";
}

TEST_F(MachinesOfTheFile, OneThatTheFileHasNoLongerBelongsToTheApi) {
  const Machine m = order("web");
  s.take({m}).value();
  s.do_act();
  EXPECT_EQ(s.take({}).value(), 1);
  EXPECT_EQ(s.look(m.id).source, schemas::MachineSource::kApi);
  EXPECT_TRUE(s.submit_command(m.id, MachineCommand::kDestroy));
}

TEST_F(MachinesOfTheFile, AConflictIsNamedAndNothingIsTaken) {
  const Machine good = order("good");
  Machine bad = order("bad");
  s.create(bad).value();
  s.do_act();
  bad.driver = schemas::MachineDriver::kSsh;
  const auto taken = s.take({good, bad});
  EXPECT_EQ(taken.error().code, Code::kInvalidState);
  EXPECT_NE(taken.error().message.find(schemas::machine_id(bad.id)), std::string::npos);
  EXPECT_EQ(s.machines().any(good.id).error().code, Code::kNotFound);
  bad.driver = schemas::MachineDriver::kSandbox;
  bad.tenant = "other";
  EXPECT_EQ(s.take({bad}).error().code, Code::kInvalidState);
  bad.tenant = kTenant;
  s.submit_command(bad.id, MachineCommand::kDestroy).value();
  s.do_act();
  EXPECT_EQ(s.take({bad}).error().code, Code::kInvalidState) << "it is destroyed";
}

TEST_F(MachinesOfTheFile, ANameThatAMachineOfTheApiHasIsAConflict) {
  const Machine others = order("web");
  s.create(others).value();
  const Machine m = order("web");
  const auto taken = s.take({m});
  EXPECT_EQ(taken.error().code, Code::kInvalidState);
  EXPECT_NE(taken.error().message.find(schemas::machine_id(others.id)), std::string::npos);
  EXPECT_EQ(s.take({others}).value(), 1) << "the file may take it over";
}

TEST_F(MachinesOfTheFile, NamesOfTheFileMayChangeHands) {
  Machine a = order("a"), b = order("b");
  s.take({a, b}).value();
  std::swap(a.name, b.name);
  EXPECT_EQ(s.take({a, b}).value(), 2);
  EXPECT_EQ(s.look(a.id).name, "b");
  EXPECT_EQ(s.look(b.id).name, "a");
}

TEST_F(MachinesOfTheFile, OneThatTheFileReplacesByAnotherOfItsNameGivesThatUp) {
  const Machine old = order("web");
  s.take({old}).value();
  const Machine fresh = order("web");
  EXPECT_EQ(s.take({fresh}).value(), 2);
  EXPECT_EQ(s.look(fresh.id).name, "web");
  EXPECT_EQ(s.look(old.id).name, "web-" + old.id.str().substr(28));
  EXPECT_EQ(s.look(old.id).source, schemas::MachineSource::kApi);
}

TEST(MachinesOnANearlyFullDisk, WhatAStartMakesOfThemIsWritten) {
  support::TempDir dir;
  base::ManualClock clock;
  Store::Options options = test_options(dir.str() + "/data");
  options.disk_free_min_bytes = std::int64_t{1} << 60;
  const auto store = opened(options, clock);
  Machines machines(*store);
  const auto act = [&] { return schemas::JobId{schemas::Kind::kMachine, base::Uuid::make(clock.wall())}; };
  EXPECT_TRUE(await<Machine>(
      [&](auto done) { machines.ensure_local("default", base::Uuid::make(clock.wall()), act(), done); }));
  Machine web;
  web.id = base::Uuid::make(clock.wall());
  web.tenant = kTenant;
  web.name = "web";
  EXPECT_TRUE(await<int>([&](auto done) { machines.apply_config_file({web}, {act()}, done); }));
}

}  // namespace
}  // namespace millrace::storage::testing

#include "schemas/machines/machine_lifecycle.h"

#include <array>

#include <gtest/gtest.h>

namespace millrace::schemas::machine_lifecycle_test {
namespace {

using A = MachineAct;
using P = MachinePhase;
using S = MachineState;

constexpr std::array kPhases = {P::kAccepted, P::kStarting,   P::kRunning,   P::kStopping,
                                P::kSleeping, P::kDestroying, P::kDestroyed, P::kFailed};
constexpr std::array kStates = {S::kRunning, S::kSleeping, S::kDestroyed};
constexpr std::array kActs = {A::kWake, A::kSleep, A::kReboot, A::kDestroy, A::kOpenSsh};

TEST(MachineLifecycle, EveryPhaseHasItsNextAct) {
  struct Row {
    P phase;
    std::optional<A> running, sleeping, destroyed;
  };
  const Row kTable[] = {
      {P::kAccepted, A::kWake, A::kSleep, A::kDestroy},
      {P::kStarting, A::kWake, A::kSleep, A::kDestroy},
      {P::kRunning, {}, A::kSleep, A::kDestroy},
      {P::kStopping, A::kWake, A::kSleep, A::kDestroy},
      {P::kSleeping, A::kWake, {}, A::kDestroy},
      {P::kFailed, {}, {}, A::kDestroy},
      {P::kDestroyed, {}, {}, {}},
  };
  for (const Row& row : kTable) {
    const auto phase = std::to_string(static_cast<int>(row.phase));
    EXPECT_EQ(next_act(S::kRunning, row.phase), row.running) << phase;
    EXPECT_EQ(next_act(S::kSleeping, row.phase), row.sleeping) << phase;
    EXPECT_EQ(next_act(S::kDestroyed, row.phase), row.destroyed) << phase;
  }
  EXPECT_EQ(next_act(S::kDestroyed, P::kDestroying), A::kDestroy);
}

TEST(MachineLifecycle, DoingTheNextActLeadsWhereTheMachineIsWanted) {
  for (const S desired : kStates) {
    for (const P phase : kPhases) {
      const auto act = next_act(desired, phase);
      if (!act) continue;
      EXPECT_FALSE(next_act(desired, phase_after(*act, phase_during(*act, phase))));
    }
  }
}

TEST(MachineLifecycle, NothingBeginsOnAMachineWhileAnActMovesIt) {
  for (const S desired : kStates) {
    for (const P phase : kPhases) {
      for (const A act : {A::kWake, A::kSleep, A::kReboot, A::kDestroy}) {
        EXPECT_FALSE(is_awake(desired, phase_during(act, phase)));
      }
      EXPECT_EQ(phase_during(A::kOpenSsh, phase), phase);
      EXPECT_EQ(phase_after(A::kOpenSsh, phase), phase);
      EXPECT_EQ(is_awake(desired, phase), desired == S::kRunning && phase == P::kRunning);
    }
  }
}

TEST(MachineLifecycle, AnActReadsBackAsItWasWritten) {
  const auto machine = base::Uuid::make(base::wall_from(1'700'000'000'000));
  for (const A act : kActs) {
    const auto spec = act_spec_from_json(to_json(ActSpec{machine, act})).value();
    EXPECT_EQ(spec.machine, machine);
    EXPECT_EQ(spec.act, act);
  }
  ActResult result;
  result.facts = {"cgroup-v2", "image"};
  result.ssh = SshEndpoint{"127.0.0.1", 2201, machine};
  const auto read = act_result_from_json(to_json(result)).value();
  EXPECT_EQ(read.facts.limits, "cgroup-v2");
  EXPECT_EQ(read.facts.disk, "image");
  ASSERT_TRUE(read.ssh);
  EXPECT_EQ(read.ssh->host, "127.0.0.1");
  EXPECT_EQ(read.ssh->port, 2201);
  EXPECT_EQ(read.ssh->owner, machine);
  EXPECT_FALSE(act_result_from_json(to_json(ActResult{}))->ssh);
}

TEST(MachineLifecycle, WhatWasNotWrittenByUsIsRefused) {
  for (const char* text :
       {"", "[]", "{}", R"({"machine":"dm-1","act":"wake"})", R"({"machine":1,"act":2})"}) {
    EXPECT_FALSE(act_spec_from_json(text)) << text;
  }
  for (const char* text : {"", "1", R"({"ssh":{}})", R"({"ssh":{"host":"h","port":"1","owner":"x"}})"}) {
    EXPECT_FALSE(act_result_from_json(text)) << text;
  }
}

}  // namespace
}  // namespace millrace::schemas::machine_lifecycle_test

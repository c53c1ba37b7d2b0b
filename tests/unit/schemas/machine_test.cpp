#include "schemas/machines/machine.h"

#include <gtest/gtest.h>

namespace millrace::schemas::machine_test {
namespace {

using schemas::Json;

const base::Uuid kMachine = *base::Uuid::parse("01932b6c-8a00-7000-8000-000000000001");

TEST(MachineIds, AreDmAndAUuid) {
  const std::string id = machine_id(kMachine);
  EXPECT_EQ(id, "dm-01932b6c-8a00-7000-8000-000000000001");
  EXPECT_EQ(machine_id_from(id), kMachine);
  for (const char* bad : {"", "dm-", "local", "DM-01932b6c-8a00-7000-8000-000000000001",
                          "dm-01932B6C-8A00-7000-8000-000000000001", "dm-01932b6c-8a00-7000-8000-00000000000",
                          "dm-01932b6c-8a00-7000-8000-000000000001 "}) {
    EXPECT_EQ(machine_id_from(bad), std::nullopt) << bad;
  }
}

TEST(MachineNames, OfEachPhaseAreThoseOfTheContract) {
  using P = MachinePhase;
  const std::pair<P, const char*> table[] = {
      {P::kAccepted, "accepted"}, {P::kStarting, "starting"},   {P::kRunning, "running"},
      {P::kStopping, "stopping"}, {P::kSleeping, "sleeping"},   {P::kDestroying, "destroying"},
      {P::kFailed, "failed"},     {P::kDestroyed, "destroyed"},
  };
  for (const auto& [phase, text] : table) EXPECT_EQ(name(phase), text);
}

TEST(MachineNames, OfDriversReadBack) {
  EXPECT_EQ(driver_named("sandbox"), MachineDriver::kSandbox);
  EXPECT_EQ(driver_named("ssh"), MachineDriver::kSsh);
  EXPECT_EQ(driver_named("docker"), std::nullopt);
}

TEST(Autosleep, IsATimeOrSecondsOrNever) {
  const std::pair<const char*, std::int64_t> good[] = {
      {"30s", 30},  {"15m", 900}, {"7d3h4s", 615'604},    {"1800", 1800},
      {"never", 0}, {"0", 0},     {"366d", kAutosleepMax}};
  for (const auto& [text, seconds] : good) EXPECT_EQ(autosleep_seconds(text), seconds) << text;
  for (const char* bad : {"", "-1", "soon", "1.5h", "250ms", "30 s", "367d", "99999999999999999999", "Never"})
    EXPECT_EQ(autosleep_seconds(bad), std::nullopt) << bad;
}

TEST(MachineResource, ItsStatusSaysWhatIsWrongWithItsDisk) {
  Machine machine;
  const auto problem = [&](bool host_disk_low) {
    return Json::parse(machine_json(machine, true, host_disk_low))["status"].value("disk_problem", "");
  };
  EXPECT_EQ(problem(false), "");
  EXPECT_NE(problem(true).find("host is nearly full"), std::string::npos);
  machine.facts.disk = kReadOnlyDisk;
  EXPECT_EQ(problem(true), kReadOnlyDiskMessage);
  machine.facts.disk.clear();
  machine.driver = MachineDriver::kSsh;
  EXPECT_EQ(problem(true), "") << "its disk is not on this host";
}

TEST(MachineResource, HasItsFieldsAndItsStatusWhenAsked) {
  Machine machine;
  machine.id = kMachine;
  machine.name = "local";
  machine.vcpu = 0.5;
  machine.memory_mib = 512;
  machine.created_at = base::wall_from(1'700'000'000'000);
  machine.changed_at = base::wall_from(1'700'000'001'000);
  machine.progressed_at = base::wall_from(1'700'000'002'000);
  const Json plain = Json::parse(machine_json(machine, false));
  EXPECT_EQ(plain, Json::parse(R"({"machine_id":"dm-01932b6c-8a00-7000-8000-000000000001","name":"local",
      "driver":"sandbox","vcpu":0.5,"memory_mib":512,"storage_gib":4,"autosleep_seconds":0,
      "desired_state":"running","phase":"accepted","created_at":"2023-11-14T22:13:20.000Z"})"));
  machine.desired = MachineState::kSleeping;
  machine.phase = MachinePhase::kSleeping;
  machine.revision = 7;
  const Json whole = Json::parse(machine_json(machine, true));
  EXPECT_EQ(whole["phase"], "sleeping");
  EXPECT_EQ(whole["status"], Json::parse(R"({"phase":"sleeping","reason":"asleep","retryable":false,
      "revision":"7","last_transition_at":"2023-11-14T22:13:21.000Z",
      "last_progress_at":"2023-11-14T22:13:22.000Z","memory_configured_mib":512})"));
}

TEST(MachineResource, SaysWhatItsLastActMetAndByWhatItsLimitsHold) {
  Machine machine;
  machine.phase = MachinePhase::kFailed;
  machine.last_error = "the probe did not answer";
  machine.facts = {.limits = "cgroup-v2", .disk = "image"};
  const Json status = Json::parse(machine_json(machine, true))["status"];
  EXPECT_EQ(status["retryable"], true);
  EXPECT_EQ(status["last_error"], "the probe did not answer");
  EXPECT_EQ(status["limits"], "cgroup-v2");
  EXPECT_EQ(status["disk"], "image");
}

TEST(MachineSettings, ComeBackAsTheyWereWritten) {
  MachineSettings settings;
  settings.network = true;
  settings.wake = WakeRule{.command = {"sh", "-c", "wake \"it\""},
                           .http = {},
                           .probe = "tcp://10.0.0.1:22",
                           .timeout = std::chrono::milliseconds(5)};
  settings.ssh = SshTarget{.host = "build-1", .port = 2222, .user = "ci", .host_key = "ssh-ed25519 AAAA"};
  const auto read = machine_settings_from_json(to_json(settings));
  ASSERT_TRUE(read.has_value());
  EXPECT_TRUE(read->network);
  ASSERT_TRUE(read->wake && read->ssh);
  EXPECT_EQ(read->wake->command, settings.wake->command);
  EXPECT_EQ(read->wake->probe, settings.wake->probe);
  EXPECT_EQ(read->wake->timeout, settings.wake->timeout);
  EXPECT_EQ(read->ssh->host, "build-1");
  EXPECT_EQ(read->ssh->port, 2222);
  EXPECT_EQ(read->ssh->user, "ci");
  EXPECT_EQ(read->ssh->host_key, "ssh-ed25519 AAAA");
}

TEST(MachineSettings, AreEmptyUnlessTheFileSaysMore) {
  EXPECT_EQ(to_json(MachineSettings()), "{}");
  const auto read = machine_settings_from_json("{}");
  ASSERT_TRUE(read.has_value());
  EXPECT_FALSE(read->network || read->wake || read->ssh);
  for (const char* text : {"", "[]", R"({"network":1})", R"({"wake":{}})", R"({"ssh":{"host":1}})"})
    EXPECT_FALSE(machine_settings_from_json(text).has_value()) << text;
}

}  // namespace
}  // namespace millrace::schemas::machine_test

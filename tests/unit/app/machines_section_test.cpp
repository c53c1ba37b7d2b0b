#include "app/config/machines_section.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::app::machines_section_test {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::array<base::Setting, 1> kTable{base::Setting{.path = "listen", .help = "where"}};

// Reads the section from a configuration file. The result has the errors of the file and of the section.
MachinesSection read(const std::string& yaml) {
  base::ConfigSources sources{.file_name = "m.yaml", .file_text = yaml};
  sources.sections = {"machines"};
  const base::Config config = base::Config::read(kTable, sources);
  MachinesSection out = read_machines(config.section("machines"));
  out.mistakes.insert(out.mistakes.begin(), config.mistakes().begin(), config.mistakes().end());
  return out;
}

// One machine with these additional lines, which are indented by two spaces.
MachinesSection read_one(const std::string& lines) {
  return read("machines:\n- id: dm-0192f0a1-7c1e-7000-8000-000000000001\n  name: one\n" + lines);
}

std::string said(const MachinesSection& section) {
  std::string out;
  for (const auto& mistake : section.mistakes) out += mistake.place + ": " + mistake.message + "\n";
  return out;
}

constexpr const char* kSsh = "  driver: ssh\n  ssh: {host: box.example, user: deploy}\n";

TEST(MachinesSection, AFileWithoutItHasNoMachines) {
  EXPECT_TRUE(read("listen: 127.0.0.1:1\n").machines.empty());
  EXPECT_TRUE(read("machines:\n").machines.empty());
  EXPECT_EQ(said(read("machines: []\n")), "");
}

TEST(MachinesSection, AMachineNeedsItsIdAndNameAlone) {
  const MachinesSection section = read_one("");
  ASSERT_EQ(section.machines.size(), 1u) << said(section);
  const schemas::Machine& machine = section.machines[0];
  EXPECT_EQ(schemas::machine_id(machine.id), "dm-0192f0a1-7c1e-7000-8000-000000000001");
  EXPECT_EQ(machine.name, "one");
  EXPECT_EQ(machine.tenant, "default");
  EXPECT_EQ(machine.driver, schemas::MachineDriver::kSandbox);
  EXPECT_EQ(machine.source, schemas::MachineSource::kFile);
  EXPECT_EQ(machine.memory_mib, schemas::Machine().memory_mib);
  EXPECT_FALSE(machine.settings.network || machine.settings.wake || machine.settings.ssh);
  EXPECT_THAT(section.places, ElementsAre("m.yaml:2"));
}

TEST(MachinesSection, EveryKeyOfASandboxIsTaken) {
  const MachinesSection section = read_one(
      "  driver: sandbox\n  tenant: lab\n  vcpu: 0.5\n  memory_mib: 512\n  storage_gib: 2\n"
      "  autosleep: 15m\n  network: true\n  wake: {http: 'http://127.0.0.1:1/up', probe: 'tcp://a:22', "
      "timeout: 90s}\n");
  ASSERT_EQ(section.machines.size(), 1u) << said(section);
  const schemas::Machine& machine = section.machines[0];
  EXPECT_EQ(machine.tenant, "lab");
  EXPECT_EQ(machine.vcpu, 0.5);
  EXPECT_EQ(machine.memory_mib, 512);
  EXPECT_EQ(machine.storage_gib, 2);
  EXPECT_EQ(machine.autosleep_seconds, 900);
  EXPECT_TRUE(machine.settings.network);
  ASSERT_TRUE(machine.settings.wake);
  EXPECT_EQ(machine.settings.wake->http, "http://127.0.0.1:1/up");
  EXPECT_EQ(machine.settings.wake->probe, "tcp://a:22");
  EXPECT_EQ(machine.settings.wake->timeout, milliseconds(90'000));
}

TEST(MachinesSection, ARemoteMachineHasItsHostAndUser) {
  const MachinesSection section = read_one(
      "  driver: ssh\n  ssh: {host: 'fd00::1', port: 2222, user: deploy, host_key: 'ssh-ed25519 AAAAC3Nz'}\n"
      "  wake: {command: [/usr/bin/wakeonlan, '00:11']}\n");
  ASSERT_EQ(section.machines.size(), 1u) << said(section);
  const schemas::Machine& machine = section.machines[0];
  EXPECT_EQ(machine.driver, schemas::MachineDriver::kSsh);
  ASSERT_TRUE(machine.settings.ssh && machine.settings.wake);
  EXPECT_EQ(machine.settings.ssh->host, "fd00::1");
  EXPECT_EQ(machine.settings.ssh->port, 2222);
  EXPECT_EQ(machine.settings.ssh->user, "deploy");
  EXPECT_EQ(machine.settings.ssh->host_key, "ssh-ed25519 AAAAC3Nz");
  EXPECT_THAT(machine.settings.wake->command, ElementsAre("/usr/bin/wakeonlan", "00:11"));
}

struct Mistake {
  const char* lines;
  const char* said;
};

class MachinesSectionMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(MachinesSectionMistakes, AreNamedWithTheirLineAndTheMachineIsLeftOut) {
  const MachinesSection section = read_one(GetParam().lines);
  EXPECT_THAT(said(section), HasSubstr(GetParam().said));
  EXPECT_TRUE(section.machines.empty());
}

INSTANTIATE_TEST_SUITE_P(
    OfOneKey, MachinesSectionMistakes,
    testing::Values(
        Mistake{"  memroy_mib: 5\n", "m.yaml:4: machines.memroy_mib: no such key; did you mean memory_mib?"},
        Mistake{"  driver: docker\n", "m.yaml:4: machines.driver: \"docker\" is not sandbox or ssh"},
        Mistake{"  vcpu: 0\n", "machines.vcpu: \"0\" is not a number from 0.1 to 256"},
        Mistake{"  vcpu: nan\n", "machines.vcpu"}, Mistake{"  memory_mib: 63\n", "from 64 to 1048576"},
        Mistake{"  storage_gib: 1x\n", "machines.storage_gib: \"1x\" is not a whole number from 1 to 16384"},
        Mistake{"  autosleep: later\n", "\"later\" is not a time such as 30s"},
        Mistake{"  autosleep: 400d\n", "at most 366d"},
        Mistake{"  network: perhaps\n", "is not true or false"},
        Mistake{"  tenant: 'a b'\n", "machines.tenant"},
        Mistake{"  vcpu: [1]\n", "a single value is expected"},
        Mistake{"  ssh: {host: a, user: b}\n", "machines.ssh: is a setting of driver ssh"},
        Mistake{"  driver: ssh\n", "m.yaml:2: machines.ssh: is missing"}));

INSTANTIATE_TEST_SUITE_P(
    OfItsWake, MachinesSectionMistakes,
    testing::Values(
        Mistake{"  wake: soon\n", "m.yaml:4: machines.wake: a map is expected here"},
        Mistake{"  wake: {}\n", "machines.wake.command: set command, http or probe"},
        Mistake{"  wake:\n    comand: [/bin/a]\n",
                "m.yaml:5: machines.wake.comand: no such key; did you mean command?"},
        Mistake{"  wake: {command: [/bin/a], http: 'http://a/'}\n", "either command or http, not both"},
        Mistake{"  wake: {command: /bin/a}\n", "machines.wake.command: a list of words"},
        Mistake{"  wake: {command: [wakeonlan]}\n", "the full path of a program"},
        Mistake{"  wake: {http: 'ftp://a/'}\n", "machines.wake.http"},
        Mistake{"  wake: {http: 'http://a/', probe: 'a:22'}\n", "machines.wake.probe: tcp://HOST:PORT"},
        Mistake{"  wake: {http: 'http://a/', timeout: 2h}\n", "machines.wake.timeout: \"2h\""}));

INSTANTIATE_TEST_SUITE_P(
    OfItsSsh, MachinesSectionMistakes,
    testing::Values(Mistake{"  driver: ssh\n  ssh: {user: b}\n", "m.yaml:5: machines.ssh.host: is missing"},
                    Mistake{"  driver: ssh\n  ssh: {host: a}\n", "machines.ssh.user: is missing"},
                    Mistake{"  driver: ssh\n  ssh: {host: 'a:22', user: b}\n", "machines.ssh.host"},
                    Mistake{"  driver: ssh\n  ssh: {host: -oProxyCommand=x, user: b}\n", "machines.ssh.host"},
                    Mistake{"  driver: ssh\n  ssh: {host: a, user: -b}\n", "machines.ssh.user"},
                    Mistake{"  driver: ssh\n  ssh: {host: a, user: b, port: 0}\n", "from 1 to 65535"},
                    Mistake{"  driver: ssh\n  ssh: {host: a, user: b, host_key: AAAA}\n",
                            "machines.ssh.host_key"},
                    Mistake{"  driver: ssh\n  network: true\n  ssh: {host: a, user: b}\n",
                            "machines.network: is a setting of driver sandbox"}));

TEST(MachinesSection, AnIdIsOfItsFormAndThereOnlyOnce) {
  EXPECT_THAT(said(read("machines:\n- name: a\n")), HasSubstr("m.yaml:2: machines.id: is missing"));
  EXPECT_THAT(said(read("machines:\n- {id: dm-1, name: a}\n")), HasSubstr("\"dm-1\" is not dm- and a UUID"));
  const MachinesSection twice = read(
      "machines:\n- {id: dm-0192f0a1-7c1e-7000-8000-000000000001, name: a}\n"
      "- {id: dm-0192f0a1-7c1e-7000-8000-000000000001, name: b}\n");
  EXPECT_THAT(said(twice), HasSubstr("m.yaml:3: machines.id: dm-0192f0a1-7c1e-7000-8000-000000000001 is that "
                                     "of the machine at m.yaml:2, too"));
  EXPECT_EQ(twice.machines.size(), 1u);
}

TEST(MachinesSection, AnIdThatStandsTwiceIsNamedBehindOtherMistakes) {
  const MachinesSection section = read(
      "machines:\n- {id: dm-0192f0a1-7c1e-7000-8000-000000000001, name: a, cpu: 1}\n"
      "- {id: dm-0192f0a1-7c1e-7000-8000-000000000001, name: b, vcpu: 0}\n");
  EXPECT_THAT(said(section), HasSubstr("m.yaml:3: machines.id: dm-0192f0a1-7c1e-7000-8000-000000000001 is "
                                       "that of the machine at m.yaml:2, too"));
  EXPECT_THAT(said(section), HasSubstr("machines.cpu"));
  EXPECT_THAT(said(section), HasSubstr("machines.vcpu"));
}

TEST(MachinesSection, ANameIsThatOfOneMachineOfATenant) {
  const MachinesSection section = read(
      "machines:\n- {id: dm-0192f0a1-7c1e-7000-8000-000000000001, name: a}\n"
      "- {id: dm-0192f0a1-7c1e-7000-8000-000000000002, name: a, tenant: lab}\n"
      "- {id: dm-0192f0a1-7c1e-7000-8000-000000000003, name: a}\n");
  EXPECT_EQ(said(section), "m.yaml:4: machines.name: the machine at m.yaml:2 is called \"a\", too\n");
  EXPECT_EQ(section.machines.size(), 2u);
}

TEST(MachinesSection, ANameIsNoMachinesId) {
  const MachinesSection section = read(
      "machines:\n- {id: dm-0192f0a1-7c1e-7000-8000-000000000001, name: a}\n"
      "- id: dm-0192f0a1-7c1e-7000-8000-000000000002\n"
      "  name: dm-0192f0a1-7c1e-7000-8000-000000000001\n");
  EXPECT_EQ(said(section),
            "m.yaml:4: machines.name: a name must not have the form of a machine's id (dm- and a UUID)\n");
  EXPECT_EQ(section.machines.size(), 1u);
}

TEST(MachinesSection, AMistakeInOneLeavesTheOthers) {
  const MachinesSection section = read(
      "machines:\n- {id: dm-0192f0a1-7c1e-7000-8000-000000000001, name: a, cpu: 1}\n"
      "- {id: dm-0192f0a1-7c1e-7000-8000-000000000002, name: b}\n");
  ASSERT_EQ(section.machines.size(), 1u);
  EXPECT_EQ(section.machines[0].name, "b");
  EXPECT_THAT(section.places, ElementsAre("m.yaml:3"));
}

TEST(MachinesSection, ItIsAListOfMaps) {
  EXPECT_THAT(said(read_one("  name: two\n")), HasSubstr("m.yaml:4: name: set twice"));
  EXPECT_THAT(said(read("machines: {name: a}\n")), HasSubstr("m.yaml:1: machines: a list is expected"));
  EXPECT_THAT(said(read("machines: [a]\n")), HasSubstr("machines: a map is expected here, of id, name"));
}

TEST(MachinesSection, ARemoteMachineWithoutAWakeCommandIsProbedAtItsSshPort) {
  EXPECT_EQ(said(read_one(std::string(kSsh) + "  wake: {timeout: 30s}\n")), "");
}

}  // namespace
}  // namespace millrace::app::machines_section_test

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "platform/base/log.h"
#include "tests/unit/net/web_server.h"
#include "tests/unit/workers/machine_fixture.h"
#include "workers/machines/machine_run.h"

namespace millrace::workers {
namespace {

using base::Code;
using net::testing::WebServer;
using schemas::MachineAct;
using std::chrono::milliseconds;
using Acts = std::vector<std::string>;

const std::string kCreated = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const std::string kBroken = "HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

schemas::WakeRule by_command(std::vector<std::string> command, milliseconds timeout = milliseconds(10'000)) {
  schemas::WakeRule rule;
  rule.command = std::move(command);
  rule.timeout = timeout;
  return rule;
}

schemas::WakeRule by_probe(std::string probe, milliseconds timeout) {
  schemas::WakeRule rule;
  rule.probe = std::move(probe);
  rule.timeout = timeout;
  return rule;
}

schemas::ActResult result_of(const Outcome& outcome) {
  const auto* done = std::get_if<Succeeded>(&outcome);
  if (!done) return {};
  return schemas::act_result_from_json(done->result.bytes).value_or(schemas::ActResult{});
}

base::Error error_of(const Outcome& outcome) {
  const auto* fail = std::get_if<Fail>(&outcome);
  return fail ? fail->error : base::error(Code::kInternal, "it did not fail");
}

std::string text_of(const std::filesystem::path& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(MachineRunner, WakingAMachineWithoutARuleStartsItAndReportsHowItsLimitsAreEnforced) {
  MachineFixture fixture;
  fixture.add_machine();
  const auto result = result_of(fixture.act(MachineAct::kWake));
  EXPECT_EQ(result.facts.limits, "cgroup-v2");
  EXPECT_EQ(result.facts.disk, "image");
  EXPECT_EQ(fixture.driver.asked(), Acts{"start"});
}

TEST(MachineRunner, AWakeCommandRunsOnceBeforeTheStartAndKnowsItsMachine) {
  MachineFixture fixture;
  const std::string told = fixture.fixture.dir.str() + "/told";
  fixture.add_machine(by_command({"/bin/sh", "-c", "echo $MILLRACE_MACHINE_NAME >> " + told}));
  EXPECT_TRUE(std::holds_alternative<Succeeded>(fixture.act(MachineAct::kWake)));
  EXPECT_EQ(text_of(told), "build-7\n");
  EXPECT_EQ(fixture.driver.asked(), Acts{"start"});
}

TEST(MachineRunner, AWakeCommandThatFailsIsReportedWithItsLastLine) {
  MachineFixture fixture;
  fixture.add_machine(by_command({"/bin/sh", "-c", "echo first; echo 'no such relay' >&2; exit 4"}));
  const auto error = error_of(fixture.act(MachineAct::kWake));
  EXPECT_EQ(error.code, Code::kMachineWakeFailed);
  EXPECT_EQ(error.message, "the wake command ended with exit code 4: no such relay");
  EXPECT_EQ(fixture.driver.asked(), Acts{});
}

TEST(MachineRunner, AWakeCommandIsKilledAtTheRulesTimeout) {
  MachineFixture fixture;
  fixture.add_machine(by_command({"/bin/sleep", "1000"}, milliseconds(100)));
  EXPECT_EQ(error_of(fixture.act(MachineAct::kWake)).code, Code::kMachineWakeFailed);
}

TEST(MachineRunner, AWakeCommandThatIsNotThereFailsTheWake) {
  MachineFixture fixture;
  fixture.add_machine(by_command({"/nonesuch/wake"}));
  EXPECT_EQ(error_of(fixture.act(MachineAct::kWake)).code, Code::kMachineWakeFailed);
}

TEST(MachineRunner, AWakeRequestIsAPost) {
  MachineFixture fixture;
  WebServer web({{"/wake", kCreated}});
  schemas::WakeRule rule;
  rule.http = web.url("/wake");
  fixture.add_machine(rule);
  EXPECT_TRUE(std::holds_alternative<Succeeded>(fixture.act(MachineAct::kWake)));
  EXPECT_EQ(web.last_head().substr(0, 10), "POST /wake");
}

TEST(MachineRunner, AWakeRequestThatIsRefusedFailsTheWake) {
  MachineFixture fixture;
  WebServer web({{"/wake", kBroken}});
  schemas::WakeRule rule;
  rule.http = web.url("/wake");
  fixture.add_machine(rule);
  const auto error = error_of(fixture.act(MachineAct::kWake));
  EXPECT_EQ(error.code, Code::kMachineWakeFailed);
  EXPECT_EQ(error.message, "the wake request returned status 500");
}

TEST(MachineRunner, AMachineThatAnswersItsProbeIsAwake) {
  MachineFixture fixture;
  WebServer web({{"/up", kCreated}});
  fixture.add_machine(by_probe(web.url("/up"), milliseconds(10'000)));
  EXPECT_TRUE(std::holds_alternative<Succeeded>(fixture.act(MachineAct::kWake)));
}

TEST(MachineRunner, APortThatTakesAConnectionAnswersItsProbe) {
  MachineFixture fixture;
  WebServer web({});
  fixture.add_machine(by_probe("tcp://" + web.host(), milliseconds(10'000)));
  EXPECT_TRUE(std::holds_alternative<Succeeded>(fixture.act(MachineAct::kWake)));
}

TEST(MachineRunner, AProbeWithoutAnAnswerFailsTheWakeAtItsTimeout) {
  MachineFixture fixture;
  fixture.add_machine(by_probe("tcp://127.0.0.1:1", milliseconds(50)));
  const auto error = error_of(fixture.act(MachineAct::kWake));
  EXPECT_EQ(error.code, Code::kMachineWakeFailed);
  EXPECT_EQ(error.message, "the machine did not respond at tcp://127.0.0.1:1 within 50 ms");
  EXPECT_EQ(fixture.driver.asked(), Acts{});
}

TEST(MachineRunner, AWakeThatIsCancelledIsLeftToAnotherWorker) {
  MachineFixture fixture;
  fixture.add_machine(by_probe("tcp://127.0.0.1:1", milliseconds(600'000)));
  const auto attempt = fixture.begin(MachineAct::kWake);
  attempt->stop(StopReason::kDrain);
  EXPECT_TRUE(std::holds_alternative<Abandoned>(attempt->outcome()));
}

TEST(MachineRunner, AnActDoesNotBeginOnceTheLeaseIsNearlyOver) {
  MachineFixture fixture;
  fixture.add_machine();
  fixture.may_start = false;
  EXPECT_TRUE(std::holds_alternative<Abandoned>(fixture.act(MachineAct::kWake)));
  EXPECT_EQ(fixture.driver.asked(), Acts{});
}

TEST(MachineRunner, AMachineThatCannotBeReachedIsDistinguishedFromOneThatDoesNotWake) {
  MachineFixture fixture;
  fixture.add_machine();
  fixture.driver.start_error = base::error(Code::kMachineNotRoutable, "no route");
  EXPECT_EQ(error_of(fixture.act(MachineAct::kWake)).code, Code::kMachineNotRoutable);
  fixture.driver.start_error = base::error(Code::kInternal, "no loop device is left");
  const auto error = error_of(fixture.act(MachineAct::kReboot));
  EXPECT_EQ(error.code, Code::kMachineWakeFailed);
  EXPECT_EQ(error.message, "no loop device is left");
}

TEST(MachineRunner, AStartThatFailsIsOneLogLineWithDetailsOfTheDriver) {
  MachineFixture fixture;
  fixture.add_machine();
  base::Error refused = base::error(Code::kMachineNotRoutable, "its host refused the connection");
  refused.details = R"({"said":"port 22"})";
  fixture.driver.start_error = refused;
  ::testing::internal::CaptureStderr();
  base::log_start(base::LogFormat::kText, base::LogLevel::kWarn);
  const auto error = error_of(fixture.act(MachineAct::kReboot));
  base::log_stop();
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(error.message, "its host refused the connection");
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  for (const std::string& told :
       {std::string("machine_operation_failed"), schemas::machine_id(fixture.machine.id),
        std::string("act=reboot"), error.message, std::string("port 22")}) {
    EXPECT_NE(log.find(told), std::string::npos) << told << " in " << log;
  }
}

TEST(MachineRunner, AMachineOfADriverThatIsNotHereIsNotRoutable) {
  MachineFixture fixture;
  fixture.add_machine();
  fixture.has_driver = false;
  EXPECT_EQ(error_of(fixture.act(MachineAct::kWake)).code, Code::kMachineNotRoutable);
}

TEST(MachineRunner, SshSessionsEndBeforeAMachineStops) {
  MachineFixture fixture;
  fixture.add_machine();
  EXPECT_TRUE(std::holds_alternative<Succeeded>(fixture.act(MachineAct::kSleep)));
  EXPECT_EQ(fixture.driver.asked(), (Acts{"close_ssh", "stop"}));
  EXPECT_TRUE(std::holds_alternative<Succeeded>(fixture.act(MachineAct::kReboot)));
  EXPECT_EQ(fixture.driver.asked(), (Acts{"close_ssh", "stop", "close_ssh", "stop", "start"}));
}

TEST(MachineRunner, AMachineIsDestroyedOnceNoExecutionRunsOnIt) {
  MachineFixture fixture;
  fixture.add_machine();
  const storage::Lease execution = fixture.run_execution();
  const auto attempt = fixture.begin(MachineAct::kDestroy);
  EXPECT_FALSE(attempt->is_over());
  EXPECT_EQ(fixture.driver.asked(), Acts{});
  fixture.end_execution(execution);
  EXPECT_TRUE(std::holds_alternative<Succeeded>(attempt->outcome()));
  EXPECT_EQ(fixture.driver.asked(), (Acts{"close_ssh", "destroy"}));
}

TEST(MachineRunner, OpeningSshReportsTheEndpoint) {
  MachineFixture fixture;
  fixture.add_machine();
  const auto result = result_of(fixture.act(MachineAct::kOpenSsh));
  ASSERT_TRUE(result.ssh);
  EXPECT_EQ(result.ssh->host, "127.0.0.1");
  EXPECT_EQ(result.ssh->port, 2201);
}

TEST(MachineRunner, AMachineThatIsGoneFailsItsAct) {
  MachineFixture fixture;
  fixture.machine.id = base::Uuid::make(fixture.fixture.clock->wall());
  EXPECT_EQ(error_of(fixture.act(MachineAct::kWake)).code, Code::kMachineNotFound);
}

}  // namespace
}  // namespace millrace::workers

#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "platform/base/fd.h"
#include "tests/support/failing_blobs.h"
#include "tests/support/wait_until.h"
#include "tests/unit/workers/exec_fixture.h"
#include "workers/exec/exec_request.h"

namespace millrace::workers {
namespace {

using base::Code;
using machines::CancelToken;
using machines::CommandRequest;
using schemas::JobStatus;

constexpr std::string_view kSecret = "hunter2-and-more";

// Records the requests that the worker makes for a job on a machine.
class OriginalRequests {
 public:
  Play play() {
    return [this](const CommandRequest& request, const CancelToken&, const Say&) {
      const std::lock_guard lock(mutex_);
      request_ = request;
      return exits(0);
    };
  }
  CommandRequest request() const {
    const std::lock_guard lock(mutex_);
    return request_;
  }

 private:
  mutable std::mutex mutex_;
  CommandRequest request_;
};

TEST(ExecTask, ACommandRunsAsRequested) {
  OriginalRequests asked;
  ExecFixture exec(asked.play());
  auto spec = exec.spec();
  spec.command = {"sh", "-c", "echo $HOME"};
  spec.cwd = "src";
  spec.timeout = std::chrono::milliseconds(1'234);
  const auto job = exec.submit({.spec = spec, .input = "typed"});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  const CommandRequest request = asked.request();
  EXPECT_EQ(request.machine.id, exec.machine.id);
  EXPECT_EQ(request.machine.number, exec.machine.number);
  EXPECT_EQ(request.machine.memory_mib, exec.machine.memory_mib);
  EXPECT_EQ(request.execution, job.str());
  EXPECT_EQ(request.command, spec.command);
  EXPECT_EQ(request.cwd, "src");
  EXPECT_EQ(request.input, "typed");
  EXPECT_EQ(request.timeout, spec.timeout);
}

TEST(ExecTask, ALargeSpecComesFromItsBlob) {
  OriginalRequests asked;
  ExecFixture exec(asked.play());
  auto spec = exec.spec();
  spec.command.emplace_back(100'000, 'i');
  const auto job = exec.submit({.spec = spec});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(asked.request().command, spec.command);
}

TEST(ExecTask, ALargeInputArrivesWhole) {
  OriginalRequests asked;
  ExecFixture exec(asked.play());
  const std::string input(4'000'000, 'i');
  const auto job = exec.submit({.spec = exec.spec(), .input = input});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(asked.request().input, input);
}

// While an object lives, standard error goes to a file.
class StderrFile {
 public:
  explicit StderrFile(std::filesystem::path path) : path_(std::move(path)), before_(::dup(STDERR_FILENO)) {
    const base::Fd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    ::dup2(file.get(), STDERR_FILENO);
  }
  ~StderrFile() { ::dup2(before_.get(), STDERR_FILENO); }
  bool contains(std::string_view text) const {
    std::ifstream in(path_);
    return std::string(std::istreambuf_iterator<char>(in), {}).find(text) != std::string::npos;
  }

 private:
  std::filesystem::path path_;
  base::Fd before_;
};

TEST(ExecTask, AnInputThatCannotBeReadForAMomentIsReadAgain) {
  OriginalRequests asked;
  Gate first_ends;
  auto play = [&, record = asked.play()](const CommandRequest& request, const CancelToken& stop,
                                         const Say& say) {
    if (request.input.empty()) first_ends.pass();
    return record(request, stop, say);
  };
  ExecFixture exec(play, {.slots = 1});
  ASSERT_TRUE(exec.reaches(exec.submit(), JobStatus::kRunning));
  const std::string input(100'000, 'i');
  const auto job = exec.submit({.spec = exec.spec(), .input = input});
  const std::filesystem::path blobs = exec.fixture.dir.str() + "/blobs";
  std::filesystem::rename(blobs, blobs.string() + "-away");
  std::ofstream(blobs) << "no folder";
  {
    const StderrFile log(exec.fixture.dir.str() + "/log");
    first_ends.open();
    ASSERT_TRUE(support::wait_until([&] { return log.contains("exec_not_prepared"); }));
  }
  std::filesystem::remove(blobs);
  std::filesystem::rename(blobs.string() + "-away", blobs);
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(asked.request().input, input);
}

// Commands whose inputs are in an object store that does not answer. One slot.
class ExecInputInAnOutage : public ::testing::Test {
 protected:
  schemas::JobId submit_during_outage(bool rerun_on_loss) {
    faults.refuses_reads = true;
    const auto job = exec.submit({.spec = exec.spec(), .input = "input", .rerun_on_loss = rerun_on_loss});
    EXPECT_TRUE(support::wait_until([this] { return faults.refused_reads > 0; }));
    return job;
  }

  support::BlobFaults faults;
  OriginalRequests asked;
  ExecFixture exec{asked.play(),
                   {.fixture = {.with_worker = false,
                                .with_maintenance = true,
                                .open_blobs = support::FailingBlobs::open_with(faults)},
                    .slots = 1}};
};

TEST_F(ExecInputInAnOutage, ACommandThatMayRunAgainLeavesItsSlotToOthers) {
  const auto job = submit_during_outage(true);
  ASSERT_TRUE(exec.reaches(exec.submit(), JobStatus::kSucceeded));
  EXPECT_NE(exec.fixture.view(job).status, JobStatus::kFailed);
  faults.refuses_reads = false;
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(asked.request().input, "input");
}

TEST_F(ExecInputInAnOutage, ACommandThatRunsAtMostOnceWaits) {
  const auto job = submit_during_outage(false);
  ASSERT_TRUE(support::wait_until([this] { return faults.refused_reads > 1; }));
  EXPECT_EQ(exec.fixture.view(job).status, JobStatus::kRunning);
  faults.refuses_reads = false;
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(exec.begun, 1);
}

TEST(ExecTask, TheEnvironmentIsTheRequestsAndWhereItRuns) {
  OriginalRequests asked;
  ExecFixture exec(asked.play());
  const auto job =
      exec.submit({.spec = exec.spec(),
                   .environment = {{"MILLRACE_MACHINE_ID", "forged"}, {"TOKEN", std::string(kSecret)}}});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  const schemas::Environment expected = {{"TOKEN", std::string(kSecret)},
                                         {"MILLRACE_EXECUTION_ID", job.str()},
                                         {"MILLRACE_MACHINE_ID", schemas::machine_id(exec.machine.id)}};
  EXPECT_EQ(asked.request().environment, expected);
}

TEST(ExecTask, AnEnvironmentSealedUnderAnotherKeyFailsTheJobWithoutAWordOfIt) {
  OriginalRequests asked;
  ExecFixture exec(asked.play());
  testing::internal::CaptureStderr();
  const auto job = exec.submit({.spec = exec.spec(),
                                .environment = {{"TOKEN", std::string(kSecret)}},
                                .sealed_with = std::string(32, 'o')});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_EQ(exec.begun, 0);
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kHostAgentFailed);
  EXPECT_EQ(logged.find(kSecret), std::string::npos);
  EXPECT_EQ(exec.fixture.view(job).error->message.find(kSecret), std::string::npos);
}

TEST(ExecTask, ASecretIsInNoLogEventOrError) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say&) { return exits(1); });
  testing::internal::CaptureStderr();
  const auto job = exec.submit({.spec = exec.spec(), .environment = {{"TOKEN", std::string(kSecret)}}});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  ASSERT_TRUE(exec.fixture.worker->drain(std::chrono::seconds(5)));
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_NE(logged.find(job.str()), std::string::npos);
  EXPECT_EQ(logged.find(kSecret), std::string::npos);
  EXPECT_EQ(exec.fixture.view(job).error->message.find(kSecret), std::string::npos);
  for (const auto& event : exec.events(job)) EXPECT_EQ(event.data.find(kSecret), std::string::npos);
}

TEST(ExecTask, AMachineThatIsGoneFailsTheJob) {
  OriginalRequests asked;
  ExecFixture exec(asked.play());
  auto spec = exec.spec();
  spec.machine = base::Uuid::make(exec.fixture.clock->wall());
  const auto job = exec.submit({.spec = spec});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kMachineNotFound);
  EXPECT_EQ(exec.begun, 0);
}

TEST(ExecTask, AMachineOfAnotherTenantIsNotThere) {
  OriginalRequests asked;
  ExecFixture exec(asked.play());
  Answer<schemas::Machine> made;
  storage::Machines(*exec.fixture.store)
      .ensure_local("neighbour", base::Uuid::make(exec.fixture.clock->wall()),
                    {schemas::Kind::kMachine, base::Uuid::make(exec.fixture.clock->wall())}, made.take());
  const auto theirs = made.wait();
  ASSERT_TRUE(theirs);
  auto spec = exec.spec();
  spec.machine = theirs->id;
  const auto job = exec.submit({.spec = spec});
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kMachineNotFound);
}

// Waiting commands occupy only the slots of their kind.
TEST(ExecTask, TheSlotsOfOneKindAreNotAnothers) {
  Gate gate;
  ExecFixture exec(
      [&](const CommandRequest&, const CancelToken&, const Say&) { return exits(gate.pass() ? 0 : 1); },
      {.fixture = {.slots = 1, .with_worker = false}, .slots = 3});
  std::vector<schemas::JobId> commands;
  for (int i = 0; i < 4; ++i) commands.push_back(exec.submit());
  ASSERT_TRUE(support::wait_until([&] { return exec.begun == 3; }));
  const auto document = exec.fixture.submit();
  const auto held = exec.fixture.script.attempt(0);
  ASSERT_TRUE(held);
  exec.fixture.script.end(held, Succeeded{});
  EXPECT_TRUE(exec.reaches(document, JobStatus::kSucceeded));
  EXPECT_EQ(exec.begun, 3);
  gate.open();
  for (const auto& job : commands) EXPECT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
}

}  // namespace
}  // namespace millrace::workers

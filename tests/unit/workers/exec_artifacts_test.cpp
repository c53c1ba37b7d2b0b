#include <gtest/gtest.h>

#include "schemas/machines/artifact.h"
#include "tests/support/failing_blobs.h"
#include "tests/unit/workers/exec_fixture.h"
#include "workers/exec/exec_request.h"

namespace millrace::workers {
namespace {

using machines::CancelToken;
using machines::CommandRequest;
using schemas::JobStatus;
using Left = std::pair<std::string, std::string>;

std::vector<std::string> warnings(ExecFixture& exec, const schemas::JobId& job) {
  std::vector<std::string> all;
  for (const auto& event : exec.events(job)) {
    if (event.type == "warning") all.push_back(event.data);
  }
  return all;
}

TEST(ExecArtifacts, WhatACommandLeavesIsKeptBeforeItsJobEnds) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say&) {
    auto end = exits(3);
    end.artifacts.push_back(left_file("report/index.html", "<p>hello"));
    end.artifacts.push_back(left_file("empty", ""));
    return end;
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(exec.result(job)->exit_code, 3);
  EXPECT_EQ(exec.artifacts(job), (std::vector<Left>{{"report/index.html", "<p>hello"}, {"empty", ""}}));
  EXPECT_EQ(warnings(exec, job), std::vector<std::string>{});
}

TEST(ExecArtifacts, WhatTheDriverLeftOutIsReported) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say&) {
    auto end = exits(0);
    end.artifacts_note = "3 files above 100 MiB were left out";
    return end;
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(warnings(exec, job),
            std::vector<std::string>{R"({"message":"3 files above 100 MiB were left out"})"});
}

// A file does not fit on the disk. The execution still ends with the command's exit.
TEST(ExecArtifacts, AFullDiskCostsTheFileNotTheJob) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say&) {
    auto end = exits(0);
    end.artifacts.push_back(left_file("large", "x"));
    end.artifacts.back().bytes = std::int64_t{1} << 60;
    end.artifacts.push_back(left_file("small", "y"));
    return end;
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(exec.artifacts(job), (std::vector<Left>{{"small", "y"}}));
  const auto told = warnings(exec, job);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told.front().find("1 file was not kept"), std::string::npos) << told.front();
  EXPECT_NE(told.front().find("store.disk_free_min"), std::string::npos) << told.front();
}

// Commands whose files are stored in an object store that does not answer.
class ExecInAnOutage : public ::testing::Test {
 protected:
  static machines::CommandResult play(const CommandRequest&, const CancelToken&, const Say& say) {
    auto end = exits(0);
    say(kOut, "output");
    end.artifacts.push_back(left_file("report", "text"));
    return end;
  }
  bool waits_to_write() {
    return support::wait_until([this] { return faults.refused_writes > 1; });
  }

  support::BlobFaults faults;
  ExecFixture exec{play,
                   {.fixture = {.with_worker = false, .open_blobs = support::FailingBlobs::open_with(faults)},
                    .slots = 1}};
};

TEST_F(ExecInAnOutage, TheFilesOfACommandAreStoredWhenTheStoreAnswersAgain) {
  faults.refuses_writes = true;
  const auto job = exec.submit();
  ASSERT_TRUE(waits_to_write());
  EXPECT_EQ(exec.fixture.view(job).status, JobStatus::kRunning);
  faults.refuses_writes = false;
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(exec.artifacts(job), (std::vector<Left>{{"report", "text"}}));
  EXPECT_EQ(warnings(exec, job), std::vector<std::string>{});
  EXPECT_EQ(exec.begun, 1);
}

TEST_F(ExecInAnOutage, SoIsAFileThatIsCopiedOutOfAMachine) {
  faults.refuses_writes = true;
  schemas::ExecutionSpec spec = exec.spec();
  spec.file = schemas::FileAction::kGet;
  spec.command = {"get", "folder/copied"};
  const auto job = exec.submit({.spec = spec});
  ASSERT_TRUE(waits_to_write());
  faults.refuses_writes = false;
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(exec.artifacts(job), (std::vector<Left>{{"report", "text"}, {"copied", "output"}}));
}

TEST_F(ExecInAnOutage, ACancelEndsTheWaitAndNamesWhatWasNotKept) {
  faults.refuses_writes = true;
  const auto job = exec.submit();
  ASSERT_TRUE(waits_to_write());
  ASSERT_TRUE(exec.cancel(job));
  ASSERT_TRUE(support::wait_until([&] { return is_terminal(exec.fixture.view(job).status); }));
  ASSERT_EQ(warnings(exec, job).size(), 1u);
  EXPECT_NE(warnings(exec, job).front().find("1 file was not kept"), std::string::npos);
}

TEST(ExecArtifacts, NoMoreAreKeptThanAnExecutionMayHave) {
  WorkerFixture fixture({.with_worker = false});
  machines::CommandResult end = exits(0);
  for (int i = 0; i < schemas::kArtifactsMax + 2; ++i) {
    end.artifacts.push_back(left_file(std::to_string(i), "x"));
  }
  const StagedArtifacts staged = stage_artifacts(*fixture.store, "", end, CancelToken());
  EXPECT_EQ(staged.files.size(), static_cast<std::size_t>(schemas::kArtifactsMax));
  EXPECT_EQ(staged.note, "2 files were not kept: an execution keeps 100");
}

TEST(ExecArtifacts, AKilledCommandsFilesAreNotCopied) {
  WorkerFixture fixture({.with_worker = false});
  machines::CommandResult end = exits(0);
  end.artifacts.push_back(left_file("a", "x"));
  CancelToken stop;
  stop.kill();
  EXPECT_TRUE(stage_artifacts(*fixture.store, "", end, stop).files.empty());
}

}  // namespace
}  // namespace millrace::workers

#include <gtest/gtest.h>

#include "storage/writer/lock_file.h"
#include "tests/unit/workers/exec_fixture.h"
#include "workers/exec/exec_run.h"

namespace millrace::workers {
namespace {

using base::Code;
using machines::CancelToken;
using machines::CommandRequest;
using schemas::JobStatus;
using std::chrono::milliseconds;
using How = machines::CommandResult::How;

TEST(ExecRunner, ACommandThatExitsWithZeroSucceeds) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say& say) {
    say(kOut, "hello\n");
    say(kErr, "a warning\n");
    return exits(0);
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(exec.output(job, "stdout"), "hello\n");
  EXPECT_EQ(exec.output(job, "stderr"), "a warning\n");
  const auto result = exec.result(job);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_FALSE(result->signal);
  EXPECT_EQ(result->stdout_bytes, 6);
  EXPECT_EQ(result->stderr_bytes, 10);
}

TEST(ExecRunner, OutputIsInTheStoreInItsOrderBeforeTheJobEnds) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say& say) {
    for (int i = 0; i < 40; ++i) say(i % 2 == 0 ? kOut : kErr, std::to_string(i) + "\n");
    return exits(0);
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  const auto events = exec.events(job);
  std::string told, expected;
  for (int i = 0; i < 40; ++i) expected += std::to_string(i) + "\n";
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].version, static_cast<std::int64_t>(i) + 1);
    const bool output = events[i].type == "stdout" || events[i].type == "stderr";
    if (output) told += schemas::output_bytes(events[i].data).value_or("not output");
  }
  EXPECT_EQ(told, expected);
  EXPECT_EQ(events.back().type, "succeeded");
}

TEST(ExecRunner, OutputIsReportedWhileTheCommandRuns) {
  Gate gate;
  ExecFixture exec([&](const CommandRequest&, const CancelToken&, const Say& say) {
    say(kOut, "first");
    const bool passed = gate.pass();
    say(kOut, " last");
    return exits(passed ? 0 : 1);
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kRunning));
  EXPECT_TRUE(support::wait_until([&] { return exec.output(job, "stdout") == "first"; }));
  gate.open();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(exec.output(job, "stdout"), "first last");
}

TEST(ExecRunner, OutputPastTheCapIsCounted) {
  ExecFixture exec(
      [](const CommandRequest&, const CancelToken&, const Say& say) {
        const std::string block(64 * 1024, 'x');
        for (int i = 0; i < 64; ++i) say(kOut, block);
        return exits(0);
      },
      {.output_max = 100'000});
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(exec.output(job, "stdout"), std::string(100'000, 'x'));
  EXPECT_EQ(exec.result(job)->stdout_bytes, 4 << 20);
  EXPECT_TRUE(exec.result(job)->stdout_truncated);
  EXPECT_FALSE(exec.result(job)->stderr_truncated);
}

TEST(ExecRunner, MoreOutputThanMayWaitIsStoredWhole) {
  std::string text;
  for (int i = 0; text.size() < (std::size_t{4} << 20); ++i) text += std::to_string(i) + "\n";
  ExecFixture exec(
      [&](const CommandRequest&, const CancelToken&, const Say& say) {
        const std::string_view all(text);
        for (std::size_t at = 0; at < all.size(); at += 50'000) say(kOut, all.substr(at, 50'000));
        return exits(0);
      },
      {.output_max = std::size_t{8} << 20});
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(exec.output(job, "stdout"), text);
}

TEST(ExecRunner, AnotherExitCodeFailsTheJobAndIsItsResult) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say&) { return exits(3); });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kCommandFailed);
  EXPECT_EQ(exec.fixture.view(job).error->message, "the command ended with exit code 3");
  EXPECT_EQ(exec.result(job)->exit_code, 3);
  EXPECT_EQ(exec.fixture.view(job).attempt, 1);
}

TEST(ExecRunner, ASignalFailsTheJobAndIsItsResult) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say&) {
    auto end = ends(How::kSignalled);
    end.signal = 11;
    return end;
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kCommandFailed);
  EXPECT_EQ(exec.result(job)->signal, 11);
  EXPECT_FALSE(exec.result(job)->exit_code);
}

TEST(ExecRunner, ALimitOfTheMachineIsTheErrorBesideTheEnd) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say&) {
    auto end = ends(How::kSignalled);
    end.signal = 9;
    end.limit = base::error(Code::kOutOfMemory, "1024 of 1024 MiB (memory_mib)");
    return end;
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kOutOfMemory);
  EXPECT_EQ(exec.fixture.view(job).error->message, "1024 of 1024 MiB (memory_mib)");
  EXPECT_EQ(exec.result(job)->signal, 9);
}

TEST(ExecRunner, AnOutputThatStaysOpenIsReported) {
  ExecFixture exec([](const CommandRequest& request, const CancelToken&, const Say&) {
    auto end = exits(request.output_grace == milliseconds(1'000) ? 0 : 1);
    end.output_open = true;
    return end;
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_TRUE(exec.result(job)->output_open);
  int warnings = 0;
  for (const auto& event : exec.events(job)) {
    if (event.type != schemas::kWarning) continue;
    ++warnings;
    EXPECT_NE(schemas::warning_message(event.data).find("exec.output_grace"), std::string::npos);
  }
  EXPECT_EQ(warnings, 1);
}

TEST(ExecRunner, WarningsOfTheHostAreEvents) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say&) {
    auto end = exits(0);
    end.warnings = {"first", "second"};
    return end;
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  std::vector<std::string> messages;
  for (const auto& event : exec.events(job)) {
    if (event.type == schemas::kWarning) messages.push_back(schemas::warning_message(event.data));
  }
  EXPECT_EQ(messages, (std::vector<std::string>{"first", "second"}));
}

TEST(ExecRunner, ATimeOutExpiresTheJobAndKeepsItsOutput) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say& say) {
    say(kOut, "so far");
    return ends(How::kTimedOut);
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kExpired));
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kExecutionTimedOut);
  EXPECT_EQ(exec.output(job, "stdout"), "so far");
  EXPECT_EQ(exec.result(job)->stdout_bytes, 6);
}

TEST(ExecRunner, ACommandThatCannotBeStartedSaysWhy) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say&) {
    return ends(How::kPrepareFailed, "there is no command `nonesuch`");
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kExecutionPrepareFailed);
  EXPECT_EQ(exec.fixture.view(job).error->message, "there is no command `nonesuch`");
}

TEST(ExecRunner, AHostThatFailsKeepsItsReasonsToItself) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say&) {
    auto end = ends(How::kHostFailed, "the machine was stopped");
    end.detail = "/var/lib/secret-place is missing";
    return end;
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kHostAgentFailed);
  EXPECT_EQ(exec.fixture.view(job).error->message, "the machine was stopped");
  EXPECT_EQ(exec.result(job)->stdout_bytes, 0);
}

TEST(ExecRunner, AMachineThatCannotBeReachedFailsTheJobAndSaysWhy) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say&) {
    return ends(How::kNotRoutable, "build-7 does not answer");
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kMachineNotRoutable);
  EXPECT_EQ(exec.fixture.view(job).error->message, "build-7 does not answer");
}

TEST(ExecRunner, ADriverThatThrowsFailsTheJob) {
  ExecFixture exec([](const CommandRequest&, const CancelToken&, const Say&) -> machines::CommandResult {
    throw std::bad_alloc();
  });
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kFailed));
  EXPECT_EQ(exec.fixture.view(job).error->code, Code::kHostAgentFailed);
}

TEST(ExecRunner, OutputWaitsForAStoreThatRefusesForNow) {
  Gate gate;
  ExecFixture exec(
      [&](const CommandRequest&, const CancelToken&, const Say& say) {
        const bool passed = gate.pass();
        say(kOut, "kept");
        return exits(passed ? 0 : 1);
      },
      {.fixture = {.lease = {milliseconds(200), milliseconds(60'000), milliseconds(500)},
                   .stuck_lock_after = milliseconds(50),
                   .with_worker = false}});
  const auto job = exec.submit();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kRunning));
  auto lock = storage::LockFile::open(exec.fixture.dir.str() + "/locks/write.lock");
  ASSERT_TRUE(lock && lock->lock(storage::LockFile::Mode::kExclusive));
  gate.open();
  ASSERT_TRUE(support::wait_until([&] { return !exec.fixture.store->health().store_ok; }));
  lock->unlock();
  ASSERT_TRUE(exec.reaches(job, JobStatus::kSucceeded));
  EXPECT_EQ(exec.output(job, "stdout"), "kept");
}

}  // namespace
}  // namespace millrace::workers

#include "schemas/jobs/job.h"

#include <set>

#include <gtest/gtest.h>

#include "tests/support/legal_moves.h"

namespace millrace::schemas::job_test {
namespace {

constexpr std::array kAll = {JobStatus::kQueued,    JobStatus::kRunning, JobStatus::kWaiting,
                             JobStatus::kSucceeded, JobStatus::kFailed,  JobStatus::kCancelled,
                             JobStatus::kExpired};

TEST(JobKinds, EveryKindIsFoundByItsNameAndHasAPrefixOfItsOwn) {
  std::set<std::string_view> prefixes;
  for (Kind kind : kKinds) {
    EXPECT_EQ(kind_named(name(kind)), kind);
    EXPECT_TRUE(prefixes.insert(prefix(kind)).second);
    EXPECT_EQ(prefix(kind).back(), '-');
  }
  EXPECT_EQ(kind_named("OCR"), std::nullopt);
  EXPECT_EQ(kind_named(""), std::nullopt);
}

TEST(JobIds, AnIdIsItsKindsPrefixAndAUuid) {
  const JobId id{Kind::kOcr, base::Uuid::make(base::wall_from(1'700'000'000'000))};
  EXPECT_EQ(id.str(), "ocr-" + id.uuid.str());
  EXPECT_EQ(JobId::parse(id.str()), id);
}

TEST(JobIds, WhatIsNotAnIdIsRefused) {
  const std::string uuid = base::Uuid::make(base::wall_from(1)).str();
  for (const std::string& text :
       {std::string(), std::string("ocr-"), uuid, "OCR-" + uuid, "ocr_" + uuid, "ocr-" + uuid + " ",
        "tts-" + uuid, "ocr-" + uuid.substr(1), "ocr-" + uuid + "0"}) {
    EXPECT_EQ(JobId::parse(text), std::nullopt) << text;
  }
}

TEST(JobStates, AWaitingParentIsShownAsRunning) {
  EXPECT_EQ(public_name(JobStatus::kWaiting), "running");
  EXPECT_EQ(public_name(JobStatus::kWaiting), public_name(JobStatus::kRunning));
}

TEST(JobStates, AJobThatWaitsForItsMachineIsShownSo) {
  JobView job;
  EXPECT_EQ(public_status(job), "queued");
  job.waking = true;
  EXPECT_EQ(public_status(job), "wake_in_progress");
  EXPECT_EQ(known_status("wake_in_progress"), "wake_in_progress");
}

TEST(JobStates, AJobThatWaitsForItsTimeIsScheduled) {
  JobView job;
  job.scheduled = true;
  EXPECT_EQ(public_status(job), "scheduled");
  EXPECT_EQ(known_status("scheduled"), "scheduled");
}

TEST(JobStates, EveryPublicNameIsKnownAndNothingElseIs) {
  for (JobStatus status : kAll) EXPECT_EQ(known_status(public_name(status)), public_name(status));
  for (std::string_view name : {"waiting", "", "Queued", "done"}) EXPECT_EQ(known_status(name), std::nullopt);
}

TEST(JobStates, TerminalStatesAreImmutable) {
  for (JobStatus from : kAll) {
    for (JobStatus to : kAll) {
      if (is_terminal(from)) {
        EXPECT_FALSE(support::legal_move(from, to)) << public_name(from);
      }
      EXPECT_FALSE(from == to && support::legal_move(from, to));
    }
  }
}

TEST(JobStates, OnlyARunningJobSucceedsOrWaitsAndAQueuedOneFailsWithItsMachine) {
  for (JobStatus from : kAll) {
    const bool running = from == JobStatus::kRunning;
    EXPECT_EQ(support::legal_move(from, JobStatus::kSucceeded), running);
    EXPECT_EQ(support::legal_move(from, JobStatus::kFailed), running || from == JobStatus::kQueued);
    EXPECT_EQ(support::legal_move(from, JobStatus::kWaiting), running);
  }
}

TEST(JobStates, EveryOpenStateCanBeCancelledAndCanExpire) {
  for (JobStatus from : kAll) {
    EXPECT_EQ(support::legal_move(from, JobStatus::kCancelled), !is_terminal(from));
    EXPECT_EQ(support::legal_move(from, JobStatus::kExpired), !is_terminal(from));
  }
}

TEST(JobStates, OnlyAQueuedJobIsClaimed) {
  for (JobStatus from : kAll) {
    EXPECT_EQ(support::legal_move(from, JobStatus::kRunning), from == JobStatus::kQueued);
  }
}

}  // namespace
}  // namespace millrace::schemas::job_test

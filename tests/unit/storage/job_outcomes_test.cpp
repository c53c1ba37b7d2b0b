#include "storage/jobs/job_outcomes.h"

#include "tests/unit/storage/fake_blob.h"
#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

TEST(JobOutcomes, AFinishedJobHasItsResultAndItsTimes) {
  JobStore s;
  s.submit();
  s.clock.advance(2s);
  const Lease lease = s.claim_one();
  s.clock.advance(3s);
  EXPECT_EQ(s.finish(lease, R"({"pages":[]})"), ReportResult::kApplied);
  const auto result = *s.queries().result(kTenant, lease.job);
  EXPECT_EQ(result.job.status, JobStatus::kSucceeded);
  EXPECT_EQ(result.job.started_at, s.clock.wall() - 3s);
  EXPECT_EQ(result.job.completed_at, s.clock.wall());
  EXPECT_EQ(result.job.result_expires_at, s.clock.wall() + 24h);
  EXPECT_TRUE(result.job.has_result);
  EXPECT_EQ(result.payload->bytes, R"({"pages":[]})");
}

TEST(JobOutcomes, ALargeResultIsItsBlob) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  const auto blob = std::make_shared<FakeBlob>("result", "r");
  const auto applied = await<ReportResult>([&](auto done) { s.outcomes().finish(lease, {"", blob}, done); });
  EXPECT_EQ(applied.value(), ReportResult::kApplied);
  EXPECT_EQ(blob->referenced(), true);
  const auto result = *s.queries().result(kTenant, lease.job);
  EXPECT_EQ(result.payload->blob, blob->ref());
  EXPECT_TRUE(result.payload->bytes.empty());
}

TEST(JobOutcomes, ARejectedFinishClaimsNoBlob) {
  JobStore s;
  Lease lease = s.submit_and_claim();
  lease.attempt = 7;
  const auto blob = std::make_shared<FakeBlob>("result", "r");
  const auto applied = await<ReportResult>([&](auto done) { s.outcomes().finish(lease, {"", blob}, done); });
  EXPECT_EQ(applied.value(), ReportResult::kLeaseLost);
  EXPECT_EQ(blob->referenced(), std::nullopt);
}

TEST(JobOutcomes, AFailedJobKeepsItsErrorAndWhatItsKindHasToShow) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  const schemas::JobError error{base::Code::kDocumentEncrypted, "the document asks for a \"password\""};
  const auto applied = await<ReportResult>([&](auto done) {
    s.outcomes().fail(lease, error, {R"({"detail":1})", nullptr}, done);
  });
  EXPECT_EQ(applied.value(), ReportResult::kApplied);
  const auto result = *s.queries().result(kTenant, lease.job);
  EXPECT_EQ(result.job.error, error);
  EXPECT_EQ(result.payload->bytes, R"({"detail":1})");
  const auto events = *s.queries().events(kTenant, lease.job, 2, 9);
  EXPECT_EQ(events.at(0).type, "failed");
  EXPECT_EQ(events.at(0).data,
            R"({"code":"document_encrypted","message":"the document asks for a \"password\""})");
}

TEST(JobOutcomes, AFailedJobKeepsTheFieldThatItsErrorIsAbout) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  const schemas::JobError error{base::Code::kInvalidField, "9 is out of range", "pages"};
  EXPECT_EQ(s.fail(lease, error), ReportResult::kApplied);
  EXPECT_EQ(s.view(lease.job).error, error);
  EXPECT_EQ((*s.queries().result(kTenant, lease.job)).job.error, error);
  EXPECT_EQ((*s.queries().events(kTenant, lease.job, 2, 9)).at(0).data,
            R"({"code":"invalid_field","message":"9 is out of range","param":"pages"})");
}

TEST(JobOutcomes, ALongErrorMessageIsCutBetweenCharacters) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  std::string message;
  while (message.size() < 3000) message += "ä€";
  s.fail(lease, {base::Code::kInternal, message});
  const auto stored = s.view(lease.job).error->message;
  EXPECT_LE(stored.size(), 1024u);
  EXPECT_GE(stored.size(), 1021u);
  EXPECT_EQ(stored, message.substr(0, stored.size()));
  EXPECT_NE(message[stored.size()] & 0xC0, 0x80);
}

TEST(JobOutcomes, AnExpiredAttemptIsExpired) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  EXPECT_EQ(s.expired(lease), ReportResult::kApplied);
  EXPECT_EQ(s.view(lease.job).status, JobStatus::kExpired);
  EXPECT_EQ(s.expired(lease), ReportResult::kRepeated);
}

TEST(JobOutcomes, AFinishAfterTheStoreEndedTheJobIsNoRepetition) {
  JobStore s;
  s.submit_at_most_once();
  const Lease lease = s.claim_one();
  s.release_worker();
  EXPECT_EQ(s.finish(lease), ReportResult::kLeaseLost);
}

TEST(JobOutcomes, ARetryReportsWhyAndWhen) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  RetryPlan plan;
  plan.delay = 1s;
  plan.error = {base::Code::kUpstream, "busy"};
  s.retry(lease, plan);
  const auto events = *s.queries().events(kTenant, lease.job, 2, 9);
  EXPECT_EQ(events.at(0).type, "retry");
  EXPECT_EQ(events.at(0).data, R"({"code":"upstream_error","message":"busy","attempt":1,"run_at":")" +
                                   base::rfc3339(s.clock.wall() + 1s) + "\"}");
}

TEST(JobOutcomes, RetriesThatCostNothingLeaveTheAttemptsOfThoseThatDo) {
  JobStore s;
  RetryPlan free, dear;
  free.error = dear.error = {base::Code::kUpstream, "busy"};
  dear.attempts_max = 2;
  Lease lease = s.submit_and_claim();
  for (int i = 0; i < 5; ++i) {
    s.retry(lease, free);
    lease = s.claim_one();
  }
  s.retry(lease, dear);  // the first attempt that counts
  EXPECT_EQ(s.view(lease.job).status, JobStatus::kQueued);
  s.retry(s.claim_one(), dear);
  EXPECT_EQ(s.view(lease.job).status, JobStatus::kFailed);
}

TEST(JobOutcomes, ARecordingThatIsAtFaultGoesWithItsJobsFailure) {
  JobStore s;
  const auto fail_with = [&s](base::Code code) {
    auto order = s.order();
    order.id = s.new_id(schemas::Kind::kStt);
    order.input = std::make_shared<FakeBlob>(std::string(base::name(code)), "a");
    s.submit(order);
    const auto claimed = s.claim({.kind = schemas::Kind::kStt, .worker = "w-1", .count = 1});
    EXPECT_EQ(s.fail(claimed.at(0).lease, {code, "bad"}), ReportResult::kApplied);
    return order.id;
  };
  const auto dropped = [&s] {
    return await<std::vector<std::string>>([&](auto done) { s.upkeep().drop_blobs(10, done); })
        .value()
        .size();
  };
  const auto kept = fail_with(base::Code::kPieceFailed);
  EXPECT_EQ(dropped(), 0U);
  for (const auto code :
       {base::Code::kAudioDamaged, base::Code::kAudioTooLong, base::Code::kAudioUnsupported}) {
    const auto bad = fail_with(code);
    EXPECT_EQ(dropped(), 1U) << base::name(code);
    EXPECT_EQ(s.retry_job(bad).error().code, base::Code::kInvalidState);
  }
  EXPECT_TRUE(s.retry_job(kept));
}

TEST(JobOutcomes, ChildrenGetTheirParentsDocumentAndOwnSpecs) {
  JobStore s;
  const auto input = std::make_shared<FakeBlob>("document", "a");
  auto order = s.order();
  order.input = input;
  s.submit(order);
  const Lease parent = s.claim_one();
  ASSERT_EQ(s.split(parent, 2), ReportResult::kApplied);
  const auto children = s.claim(2);
  ASSERT_EQ(children.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    const auto& child = children[static_cast<std::size_t>(i)];
    EXPECT_EQ(child.parent, order.id);
    EXPECT_EQ(child.child_index, i);
    EXPECT_EQ(child.spec, "{\"range\":" + std::to_string(i) + "}");
    EXPECT_EQ(child.input, input->ref());
    EXPECT_EQ(child.traceparent, "00-trace");
    EXPECT_FALSE(child.children_done);
  }
  s.fail(children[1].lease);
  const auto ends = *s.queries().children(order.id);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].status, JobStatus::kRunning);
  EXPECT_EQ(ends[1].status, JobStatus::kFailed);
  EXPECT_EQ(ends[1].error->code, base::Code::kDocumentDamaged);
  EXPECT_EQ(ends[1].spec, R"({"range":1})");
}

// Runs the parts of a split job, then claims the parent for the merge.
Lease merge_of(JobStore& s, const Lease& parent) {
  s.split(parent, 2);
  for (int i = 0; i < 2; ++i) s.finish(s.claim_one());
  return s.claim_one();
}

TEST(JobOutcomes, PuttingThePartsTogetherIsShownAsNoFurtherAttempt) {
  JobStore s;
  const Lease parent = s.submit_and_claim();
  const Lease merge = merge_of(s, parent);
  EXPECT_EQ(merge.attempt, 2) << "the lease has its own attempt number";
  EXPECT_EQ(s.view(parent.job).attempt, 1);
  s.finish(merge);
  EXPECT_EQ(s.view(parent.job).attempt, 1);
}

TEST(JobOutcomes, ASplitJobShowsTheAttemptsThatRepeatOne) {
  JobStore s;
  const Lease first = s.submit_and_claim();
  s.return_to_queue(first);
  const Lease second = s.claim_one();
  const Lease merge = merge_of(s, second);
  EXPECT_EQ(s.view(first.job).attempt, 2);
  s.return_to_queue(merge);
  EXPECT_EQ(s.view(first.job).attempt, 2) << "the next attempt has not started";
  const Lease again = s.claim_one();
  EXPECT_EQ(again.attempt, 4);
  EXPECT_EQ(s.view(first.job).attempt, 3);
}

TEST(JobOutcomes, ASplitJobThatIsCancelledBeforeItsPartsAreReadShowsItsAttempt) {
  JobStore s;
  const Lease parent = s.submit_and_claim();
  s.split(parent, 2);
  EXPECT_EQ(s.view(parent.job).attempt, 1);
  s.cancel(parent.job).value();
  EXPECT_EQ(s.view(parent.job).attempt, 1);
}

TEST(JobOutcomes, NothingSplitsTwiceAndNoChildSplits) {
  JobStore s;
  const Lease parent = s.submit_and_claim();
  s.split(parent, 1);
  const Lease child = s.claim_one();
  const auto again = [&](const Lease& lease) {
    return await<ReportResult>([&](auto done) { s.outcomes().split(lease, {{"{}", s.new_id()}}, 1, done); });
  };
  EXPECT_EQ(again(child).error().code, base::Code::kInvalidState);
  s.finish(child);
  EXPECT_EQ(again(s.claim_one()).error().code, base::Code::kInvalidState);
  const Lease fresh = s.submit_and_claim();
  EXPECT_FALSE(await<ReportResult>([&](auto done) { s.outcomes().split(fresh, {}, 0, done); }).has_value());
}

TEST(JobOutcomes, ADocumentThatWasFetchedIsKeptOnce) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  const auto first = std::make_shared<FakeBlob>("document", "a");
  const auto second = std::make_shared<FakeBlob>("another", "b");
  for (const auto& blob : {first, second}) {
    EXPECT_EQ(await<ReportResult>([&](auto done) { s.outcomes().attach_input(lease, blob, done); }).value(),
              ReportResult::kApplied);
  }
  EXPECT_EQ(second->referenced(), std::nullopt);
  s.return_to_queue(lease);
  EXPECT_EQ(s.claim(1).at(0).input, first->ref());
}

TEST(JobOutcomes, EngineTimeIsAddedToTheRootByItselfAndByItsChildren) {
  JobStore s;
  const Lease root = s.submit_and_claim();
  EXPECT_EQ(s.queries().engine_time(root.job).value(), std::chrono::milliseconds(0));
  s.engine_time(root, std::chrono::milliseconds(1500));
  ASSERT_EQ(s.split(root, 2), ReportResult::kApplied);
  for (int child = 0; child < 2; ++child)
    s.engine_time(s.claim(1).at(0).lease, std::chrono::milliseconds(2000));
  EXPECT_EQ(s.queries().engine_time(root.job).value(), std::chrono::milliseconds(5500));
}

TEST(JobOutcomes, AReplacedPartReleasesItsBlob) {
  JobStore s;
  const Lease lease = s.submit_and_claim();
  const auto blob = std::make_shared<FakeBlob>("page", "a");
  await<ReportResult>([&](auto done) {
    s.outcomes().parts(lease, {{0, {"", blob}, false}}, {}, done);
  }).value();
  EXPECT_EQ(s.queries().part(kTenant, lease.job, 0)->blob, blob->ref());
  EXPECT_EQ(s.queries().part_sizes(kTenant, lease.job)->at(0).bytes,
            static_cast<std::size_t>(blob->ref().bytes));
  s.part(lease, 0, "{}", true);
  const auto paths =
      await<std::vector<std::string>>([&](auto done) { s.upkeep().drop_blobs(9, done); }).value();
  EXPECT_EQ(paths, std::vector<std::string>{blob->ref().path});
  EXPECT_FALSE(s.upkeep().is_blob_referenced(blob->ref().path));
}

TEST(JobOutcomes, PartsOfAChildWhoseRootHasEndedAreRefused) {
  JobStore s;
  const Lease parent = s.submit_and_claim();
  s.split(parent, 1);
  const Lease child = s.claim_one();
  s.cancel(parent.job).value();
  const auto version = s.view(parent.job).version;
  EXPECT_EQ(s.part(child, 0), ReportResult::kLeaseLost);
  EXPECT_EQ(s.total(child, 3), ReportResult::kLeaseLost);
  EXPECT_EQ(s.view(parent.job).version, version);
}

}  // namespace
}  // namespace millrace::storage::testing

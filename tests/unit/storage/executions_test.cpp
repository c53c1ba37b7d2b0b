#include "storage/db/db.h"
#include "storage/writer/readers.h"
#include "tests/unit/storage/fake_blob.h"
#include "tests/unit/storage/job_store.h"

// Data that the store keeps for executions only.
namespace millrace::storage::testing {
namespace {

using base::Code;

TEST(JobHistory, EventsOfARunnerAreStoredInOrderBetweenTheTransitions) {
  JobStore s;
  const Lease lease = s.run_command();
  EXPECT_EQ(s.append_events(lease, {{"stdout", R"({"chunk":"a"})"}, {"stderr", R"({"chunk":"b"})"}}),
            ReportResult::kApplied);
  EXPECT_EQ(s.view(lease.job).version, 4);
  s.cancel(lease.job).value();
  EXPECT_EQ(s.append_events(lease, {{"stdout", R"({"chunk":"c"})"}}), ReportResult::kApplied)
      << "the grace time is part of the run";
  s.cancelled(lease);
  const auto events = s.queries().events(kTenant, lease.job, 0, 99).value();
  std::string types;
  for (const auto& event : events) types += event.type + " ";
  EXPECT_EQ(types, "queued running stdout stderr stdout cancelled ");
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].version, static_cast<std::int64_t>(i) + 1);
  }
  EXPECT_EQ(events[4].data, R"({"chunk":"c"})");
  EXPECT_EQ(s.view(lease.job).version, 6);
}

TEST(JobHistory, EveryEventIsReportedByTheCommitHook) {
  JobStore s;
  const Lease lease = s.run_command();
  s.append_events(lease, {{"stdout", "{}"}, {"stdout", "{}"}});
  EXPECT_TRUE(support::wait_until([&] {
    const auto changes = s.commits().all().changes;
    return !changes.empty() && changes.back().version == 4 && changes.back().status == JobStatus::kRunning;
  }));
}

TEST(JobHistory, NoEventIsAcceptedAfterTheEnd) {
  JobStore s;
  const Lease lease = s.run_command();
  s.finish(lease);
  EXPECT_EQ(s.append_events(lease, {{"stdout", "{}"}}), ReportResult::kLeaseLost);
  EXPECT_EQ(s.view(lease.job).version, 3);
}

TEST(JobHistory, AChildHasNone) {
  JobStore s;
  s.split(s.submit_and_claim(), 1);
  const Lease child = s.claim_one();
  const auto referenced = await<ReportResult>([&](auto done) {
    s.outcomes().events(child, {{"stdout", "{}"}}, done);
  });
  EXPECT_EQ(referenced.error().code, Code::kInvalidState);
}

TEST(JobHistory, AnEventIsBounded) {
  JobStore s;
  const Lease lease = s.run_command();
  const auto append_events = [&](std::size_t bytes) {
    return await<ReportResult>([&](auto done) {
      s.outcomes().events(lease, {{"stdout", std::string(bytes, ' ')}}, done);
    });
  };
  EXPECT_EQ(append_events(kEventMax).value(), ReportResult::kApplied);
  EXPECT_EQ(append_events(kEventMax + 1).error().code, Code::kInternal);
}

TEST(JobOutcomes, ACancelledAndAnExpiredJobKeepWhatTheirKindHasToShow) {
  JobStore s;
  const Lease stopped = s.run_command();
  s.cancel(stopped.job).value();
  const auto blob = std::make_shared<FakeBlob>("result", "r");
  const auto cancelled = await<ReportResult>([&](auto done) {
    s.outcomes().cancelled(stopped, {"", blob}, done);
  });
  EXPECT_EQ(cancelled.value(), ReportResult::kApplied);
  EXPECT_EQ(blob->referenced(), true);
  EXPECT_EQ(s.queries().record(kTenant, stopped.job)->result->blob, blob->ref());

  const Lease late = s.run_command();
  const schemas::JobError error{Code::kExecutionTimedOut, "the command ran longer than 1 s"};
  const auto expired = await<ReportResult>([&](auto done) {
    s.outcomes().expired(late, error, {R"({"signal":15})", nullptr}, done);
  });
  EXPECT_EQ(expired.value(), ReportResult::kApplied);
  const auto record = s.queries().record(kTenant, late.job).value();
  EXPECT_EQ(record.job.status, JobStatus::kExpired);
  EXPECT_EQ(record.job.error, error);
  EXPECT_EQ(record.result->bytes, R"({"signal":15})");
}

TEST(JobOutcomes, AnExpiredCommandWithACancelRequestIsCancelledAndKeepsItsResult) {
  JobStore s;
  const Lease lease = s.run_command();
  s.cancel(lease.job).value();
  const auto expired = await<ReportResult>([&](auto done) {
    s.outcomes().expired(lease, {Code::kExecutionTimedOut, ""}, {"{}", nullptr}, done);
  });
  EXPECT_EQ(expired.value(), ReportResult::kCancelled);
  const auto record = s.queries().record(kTenant, lease.job).value();
  EXPECT_EQ(record.job.status, JobStatus::kCancelled);
  ASSERT_TRUE(record.result.has_value());
  EXPECT_EQ(record.result->bytes, "{}");
}

TEST(JobQueries, ARecordIsAJobWithItsSpecItsLaneAndItsResult) {
  JobStore s;
  const Lease lease = s.run_command();
  auto record = s.queries().record(kTenant, lease.job).value();
  EXPECT_EQ(record.job.id, lease.job);
  EXPECT_EQ(record.lane_key, "dm-1");
  EXPECT_EQ(record.spec.bytes, R"({"command":["true"]})");
  EXPECT_FALSE(record.result.has_value());
  s.finish(lease, R"({"exit_code":0})");
  record = s.queries().record(kTenant, lease.job).value();
  EXPECT_EQ(record.result->bytes, R"({"exit_code":0})");
  EXPECT_EQ(s.queries().record(kTenant, s.new_id(schemas::Kind::kExec)).error().code, Code::kNotFound);
  EXPECT_EQ(s.queries().record(kTenant, {schemas::Kind::kOcr, lease.job.uuid}).error().code, Code::kNotFound);
}

TEST(JobQueries, ARecordNamesALargeSpecByItsBlob) {
  JobStore s;
  const auto blob = std::make_shared<FakeBlob>("spec", "a");
  auto order = s.command();
  order.spec.clear();
  order.spec_blob = blob;
  s.submit(order);
  EXPECT_EQ(s.queries().record(kTenant, order.id)->spec.blob, blob->ref());
}

TEST(JobQueries, ALaneIsItsTenantsJobsOfOneKindNewestFirst) {
  JobStore s;
  std::vector<schemas::JobId> jobs;
  for (int i = 0; i < 3; ++i) {
    jobs.insert(jobs.begin(), s.submit(s.command()));
    s.submit(s.command("dm-2"));
    auto others = s.command();
    others.tenant = "other";
    s.submit(others);
    auto page = s.order();
    page.lane_key = "dm-1";
    s.submit(page);
  }
  const auto lane = [&](int limit, std::optional<base::Uuid> before = {}) {
    std::vector<schemas::JobId> ids;
    const auto records = s.queries().lane(kTenant, schemas::Kind::kExec, "dm-1", limit, before);
    for (const auto& record : *records) ids.push_back(record.job.id);
    return ids;
  };
  EXPECT_EQ(lane(9), jobs);
  EXPECT_EQ(lane(2), (std::vector{jobs[0], jobs[1]}));
  EXPECT_EQ(lane(2, jobs[1].uuid), std::vector{jobs[2]});
  EXPECT_TRUE(lane(0).empty());
}

TEST(JobIntake, RemovingATerminalJobDeletesEverythingThatBelongsToIt) {
  JobStore s;
  auto order = s.command();
  order.idempotency = IdempotencyKey{"POST", "/v1/machines/dm-1/executions", "k", {}};
  const Lease lease = s.run_command(order);
  s.append_events(lease, {{"stdout", "{}"}});
  const auto result = std::make_shared<FakeBlob>("result", "r");
  await<ReportResult>([&](auto done) { s.outcomes().finish(lease, {"", result}, done); }).value();
  EXPECT_TRUE(s.remove(lease.job));
  EXPECT_EQ(s.queries().job(kTenant, lease.job).error().code, Code::kNotFound);
  EXPECT_EQ(s.queries().record(kTenant, lease.job).error().code, Code::kNotFound);
  EXPECT_TRUE(s.queries().lane(kTenant, schemas::Kind::kExec, "dm-1", 9, {})->empty());
  EXPECT_EQ(s.remove(lease.job).error().code, Code::kNotFound);
  const auto rows = read(s.store().readers(), [](Db& db) {
    auto count = db.prepare(
        "SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM job_specs) + (SELECT count(*) FROM "
        "job_results) + (SELECT count(*) FROM job_events) + (SELECT count(*) FROM job_secrets)");
    count.step();
    return count.integer(0);
  });
  EXPECT_EQ(rows.value(), 0);
  const auto paths =
      await<std::vector<std::string>>([&](auto done) { s.upkeep().drop_blobs(9, done); }).value();
  EXPECT_EQ(paths, std::vector<std::string>{result->ref().path});
  order.id = s.new_id(schemas::Kind::kExec);
  const auto again = s.try_submit(order);
  EXPECT_FALSE(again.has_value()) << "the same key creates no second job";
  EXPECT_EQ(again.error().code, Code::kResultExpired);
}

TEST(JobIntake, AnOpenJobIsCancelledByARemovalAndKeepsItsRecord) {
  JobStore s;
  const auto queued = s.submit(s.command());
  EXPECT_TRUE(s.remove(queued));
  EXPECT_EQ(s.queries().job(kTenant, queued)->status, schemas::JobStatus::kCancelled);
  const Lease running = s.run_command();
  EXPECT_TRUE(s.remove(running.job));
  EXPECT_EQ(s.queries().job(kTenant, running.job)->status, schemas::JobStatus::kRunning);
  EXPECT_TRUE(s.queries().job(kTenant, running.job)->cancel_requested);
}

TEST(JobIntake, AJobIsNotRemovedWhileChildrenOfItRun) {
  JobStore s;
  const Lease parent = s.submit_and_claim();
  s.split(parent, 2);
  const Lease child = s.claim_one();
  s.cancel(parent.job).value();
  s.cancel_orphans();
  EXPECT_EQ(s.remove(parent.job).error().code, Code::kInvalidState);
  s.cancelled(child);
  EXPECT_TRUE(s.remove(parent.job));
  EXPECT_TRUE(s.children(parent.job).empty());
}

TEST(JobIntake, ACommandIsNotRetriedWithoutItsEnvironment) {
  JobStore s;
  const Lease lease = s.run_command();
  s.fail(lease);
  const auto again = s.retry_job(lease.job);
  EXPECT_EQ(again.error().code, Code::kInvalidState);
  EXPECT_NE(again.error().message.find("submit it again"), std::string::npos);
}

TEST(JobMaintenance, ACommandsResultStaysAsLongAsItsRow) {
  JobStore s;
  const Lease lease = s.run_command();
  s.finish(lease, R"({"exit_code":3})");
  EXPECT_EQ(s.view(lease.job).result_expires_at, s.clock.wall() + 7 * 24h);
  s.clock.advance(6 * 24h);
  const auto drop_results = [&] { return s.step([&](auto done) { s.upkeep().drop_results(24h, 9, done); }); };
  EXPECT_EQ(drop_results(), 1);
  EXPECT_EQ(drop_results(), 0) << "a second run must not process it";
  EXPECT_EQ(s.queries().record(kTenant, lease.job)->result->bytes, R"({"exit_code":3})");
  s.clock.advance(24h);
  EXPECT_GT(s.step([&](auto done) { s.upkeep().drop_jobs(7 * 24h, 9, done); }), 0);
  EXPECT_EQ(s.queries().record(kTenant, lease.job).error().code, Code::kNotFound);
}

TEST(JobMaintenance, EventsThatCarryOutputAreRemovedInBoundedSteps) {
  JobStore s;
  const Lease lease = s.run_command();
  for (int i = 0; i < 5; ++i) s.append_events(lease, {{"stdout", "{}"}});
  s.finish(lease);
  s.clock.advance(7 * 24h);
  const auto drop = [&] { return s.step([&](auto done) { s.upkeep().drop_jobs(7 * 24h, 3, done); }); };
  EXPECT_EQ(drop(), 3);
  EXPECT_EQ(drop(), 3);
  EXPECT_TRUE(s.queries().job(kTenant, lease.job).has_value());
  EXPECT_EQ(drop(), 2) << "the last event and the job are deleted";
  EXPECT_EQ(s.queries().job(kTenant, lease.job).error().code, Code::kNotFound);
  EXPECT_EQ(drop(), 0);
}

}  // namespace
}  // namespace millrace::storage::testing

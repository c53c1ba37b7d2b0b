#include <random>

#include "schemas/machines/execution.h"
#include "storage/admin/api_keys.h"
#include "storage/machines/ssh_sessions.h"
#include "storage/tenants/tenants.h"
#include "tests/unit/storage/machine_store.h"

namespace millrace::storage::testing {
namespace {

using base::Code;
using schemas::Limits;
using schemas::Quota;

class QuotaStore : public MachineStore {
 public:
  void limit(Quota quota, std::int64_t limit, const std::string& tenant = kTenant) {
    Limits limits;
    limits[quota] = limit;
    EXPECT_TRUE(await<bool>(
        [&](auto done) { Tenants(store()).set(tenant, {.limits = limits}, std::move(done), "test"); }));
  }
  // A key with a limit; returns its id.
  std::string limited_key(Quota quota, std::int64_t limit) {
    ApiKeyRow key;
    key.id = "keyid001";
    key.name = "k";
    key.tenant = kTenant;
    key.limits[quota] = limit;
    EXPECT_TRUE(await<bool>([&](auto done) { ApiKeys(store()).create(key, std::move(done)); }));
    return key.id;
  }
  QuotaUse use() { return Tenants(store()).find(kTenant).value().use; }
  QuotaUse use_of_key(const std::string& id) { return Tenants(store()).of_key(id).value().use; }
  base::Result<Submitted> submit_for(const std::string& key_id) {
    Submission s = order();
    s.key_id = key_id;
    return try_submit(std::move(s));
  }
  int drop_jobs() {
    return step([&](auto done) { upkeep().drop_jobs(std::chrono::milliseconds(0), 1000, done); });
  }
  int drop_results() {
    return step([&](auto done) { upkeep().drop_results(std::chrono::milliseconds(0), 1000, done); });
  }
  // Commits regularly for two hours, so that retention trusts the clocks.
  void trust_clocks() {
    for (int i = 0; i < 800; ++i) {
      clock.advance(5s);
      (void)release_due();
    }
  }
};

// The job is refused with this quota's name.
template <class T>
void expect_refused(const base::Result<T>& result, Code code, Quota quota) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, code);
  EXPECT_EQ(result.error().param, schemas::name(quota));
}

TEST(Quotas, RunningJobsAreAcceptedUpToTheLimitAndAgainWhenOneEnds) {
  QuotaStore s;
  s.limit(Quota::kRunningJobs, 2);
  s.submit();
  s.submit();
  expect_refused(s.try_submit(s.order()), Code::kQuotaExceeded, Quota::kRunningJobs);
  EXPECT_TRUE(s.try_submit(s.order("other"))) << "another tenant has its own limit";
  s.finish(s.claim_one());
  EXPECT_TRUE(s.try_submit(s.order()));
  EXPECT_EQ(s.use().running_jobs, 2);
}

TEST(Quotas, OfTwoJobsInOneTransactionAtTheLastPlaceOneIsAccepted) {
  QuotaStore s;
  s.limit(Quota::kRunningJobs, 1);
  std::vector<std::future<bool>> accepted;
  {
    const HeldWriter held(s.store());
    for (int i = 0; i < 4; ++i) {
      auto promise = std::make_shared<std::promise<bool>>();
      accepted.push_back(promise->get_future());
      s.intake().submit(s.order(), [promise](const auto& made) { promise->set_value(made.has_value()); });
    }
  }
  int count = 0;
  for (auto& each : accepted) count += each.get() ? 1 : 0;
  EXPECT_EQ(count, 1);
}

TEST(Quotas, ARefusedJobDoesNotTakeItsIdempotencyKey) {
  QuotaStore s;
  s.limit(Quota::kRunningJobs, 1);
  const auto keyed = [&] {
    Submission order = s.order();
    order.idempotency = IdempotencyKey{"POST", "/v1/ocr", "k-1", base::sha256("body")};
    return order;
  };
  const schemas::JobId first = s.submit();
  EXPECT_FALSE(s.try_submit(keyed()));
  ASSERT_TRUE(s.cancel(first));
  const auto made = s.try_submit(keyed());
  ASSERT_TRUE(made);
  EXPECT_FALSE(made->replayed);
  const auto again = s.try_submit(keyed());
  ASSERT_TRUE(again) << "a repeated request needs no place";
  EXPECT_EQ(again->job, made->job);
}

TEST(Quotas, ARetryCountsAsAJob) {
  QuotaStore s;
  s.limit(Quota::kStoredJobs, 1);
  const Lease lease = s.submit_and_claim();
  s.fail(lease);
  expect_refused(s.retry_job(lease.job), Code::kQuotaFull, Quota::kStoredJobs);
}

TEST(JobIntake, ARestrictedKeyRetriesOnlyItsOwnJobs) {
  QuotaStore s;
  Submission order = s.order();
  order.key_id = "mine";
  s.submit(std::move(order));
  const Lease lease = s.claim_one();
  s.fail(lease);
  const auto retry = [&](const std::string& key) {
    const Caller by{.tenant = kTenant, .actor = key, .only_own = true};
    return await<Submitted>([&](auto done) {
      s.intake().retry({.by = by, .old = lease.job, .new_job = s.new_id(), .deadline_after = 24h}, done);
    });
  };
  EXPECT_EQ(retry("other").error().code, Code::kForbidden);
  EXPECT_TRUE(retry("mine"));
}

TEST(Quotas, StoredJobsAreFreedByDeletion) {
  QuotaStore s;
  s.limit(Quota::kStoredJobs, 1);
  s.finish(s.submit_and_claim());
  expect_refused(s.try_submit(s.order()), Code::kQuotaFull, Quota::kStoredJobs);
  s.trust_clocks();
  EXPECT_EQ(s.drop_jobs(), 1);
  EXPECT_TRUE(s.try_submit(s.order()));
}

TEST(Quotas, StoredBytesAreThoseOfRequestsResultsAndParts) {
  QuotaStore s;
  const Lease lease = s.submit_and_claim();
  const std::int64_t request = std::ssize(s.order().spec);
  EXPECT_EQ(s.use().stored_bytes, request);
  s.part(lease, 0, std::string(100, 'a'));
  s.part(lease, 0, std::string(40, 'a'), true);
  EXPECT_EQ(s.use().stored_bytes, request + 40);
  s.finish(lease, std::string(500, 'r'));
  EXPECT_EQ(s.use().stored_bytes, request + 540);
  s.trust_clocks();
  s.drop_results();
  EXPECT_EQ(s.use().stored_bytes, request);
  s.drop_jobs();
  EXPECT_EQ(s.use().stored_bytes, 0);
}

TEST(Quotas, AJobThatDoesNotFitIntoStoredBytesIsRefused) {
  QuotaStore s;
  const std::int64_t request = std::ssize(s.order().spec);
  s.limit(Quota::kStoredBytes, request + 5);
  s.submit();
  expect_refused(s.try_submit(s.order()), Code::kQuotaFull, Quota::kStoredBytes);
}

TEST(Quotas, ArtifactsThatDoNotFitAreLeftOut) {
  QuotaStore s;
  const Lease lease = s.run_command();
  s.limit(Quota::kStoredBytes, s.use().stored_bytes + 15);
  const auto file = [&](const std::string& name) {
    JobOutcomes::NewArtifact made;
    made.id = base::Uuid::make(s.clock.wall());
    made.name = name;
    made.mime_type = "text/plain";
    made.content = stage(s.store().blobs(), std::string(10, name[0])).value();
    return made;
  };
  EXPECT_EQ(await<ReportResult>([&](auto done) {
              s.outcomes().artifacts(lease, s.new_act().uuid, {file("a"), file("b")}, done);
            }).value(),
            ReportResult::kApplied);
  EXPECT_EQ(s.queries().record(kTenant, lease.job)->artifacts.size(), 1u);
  const auto events = s.queries().events(kTenant, lease.job, 0, 99).value();
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().type, schemas::kWarning);
  EXPECT_NE(events.back().data.find("1 file was not kept: the limit `stored_bytes`"), std::string::npos);
}

TEST(Quotas, AKeyThatReplacesAnotherContinuesItsUse) {
  QuotaStore s;
  const std::string first = s.limited_key(Quota::kRunningJobs, 2);
  const auto rotate = [&](const std::string& id, const std::string& successor) {
    ApiKeyRow row;
    row.id = successor;
    row.mac = base::sha256(successor);
    const auto ends = s.clock.wall() + 1h;
    EXPECT_TRUE(await<bool>([&](auto done) { ApiKeys(s.store()).rotate(id, row, ends, std::move(done)); }));
  };
  EXPECT_TRUE(s.submit_for(first));
  rotate(first, "keyid002");
  EXPECT_TRUE(s.submit_for("keyid002"));
  for (const std::string& id : {first, std::string("keyid002")}) {
    expect_refused(s.submit_for(id), Code::kQuotaExceeded, Quota::kRunningJobs);
    EXPECT_EQ(s.use_of_key(id).running_jobs, 2) << id;
  }
  rotate("keyid002", "keyid003");
  expect_refused(s.submit_for("keyid003"), Code::kQuotaExceeded, Quota::kRunningJobs);
  s.finish(s.claim_one());
  EXPECT_TRUE(s.submit_for("keyid003")) << "a job of the first key has ended";
  EXPECT_EQ(s.use_of_key(first).running_jobs, 2);
}

TEST(Quotas, TheUseOfAKeySurvivesSuccessorsThatWereRevoked) {
  QuotaStore s;
  const std::string first = s.limited_key(Quota::kRunningJobs, 1);
  const auto rotate = [&](const std::string& successor) {
    ApiKeyRow row;
    row.id = successor;
    row.mac = base::sha256(successor);
    const auto ends = s.clock.wall() + 1h;
    EXPECT_TRUE(
        await<bool>([&](auto done) { ApiKeys(s.store()).rotate(first, row, ends, std::move(done)); }));
  };
  rotate("keyid002");
  EXPECT_TRUE(s.submit_for("keyid002"));
  EXPECT_TRUE(await<bool>([&](auto done) { ApiKeys(s.store()).revoke("keyid002", std::move(done)); }));
  rotate("keyid003");
  for (const std::string& id : {first, std::string("keyid003")})
    expect_refused(s.submit_for(id), Code::kQuotaExceeded, Quota::kRunningJobs);
}

TEST(Quotas, TheMachinesOfAKeyCountForTheKeyThatReplacesIt) {
  QuotaStore s;
  const std::string first = s.limited_key(Quota::kMachines, 1);
  const auto create = [&](const std::string& by) {
    IdempotentCall call = s.call();
    call.actor = by;
    return s.create(s.new_machine(), call);
  };
  EXPECT_TRUE(create(first));
  ApiKeyRow row;
  row.id = "keyid002";
  row.mac = base::sha256("2");
  EXPECT_TRUE(await<bool>(
      [&](auto done) { ApiKeys(s.store()).rotate(first, row, s.clock.wall() + 1h, std::move(done)); }));
  expect_refused(create("keyid002"), Code::kQuotaFull, Quota::kMachines);
  EXPECT_EQ(s.use_of_key("keyid002").machines, 1);
}

TEST(Quotas, ATenantThatHasUsedUpItsBytesIsKnownBeforeMoreIsMade) {
  QuotaStore s;
  EXPECT_TRUE(Tenants(s.store()).check_stored_bytes(kTenant));
  s.submit();
  s.limit(Quota::kStoredBytes, s.use().stored_bytes);
  const base::Status full = Tenants(s.store()).check_stored_bytes(kTenant);
  ASSERT_FALSE(full.has_value());
  EXPECT_EQ(full.error().code, Code::kQuotaFull);
  EXPECT_EQ(full.error().param, schemas::name(Quota::kStoredBytes));
}

TEST(Quotas, AKeyHasItsOwnLimitsWithinThoseOfItsTenant) {
  QuotaStore s;
  const std::string key = s.limited_key(Quota::kRunningJobs, 1);
  EXPECT_TRUE(s.submit_for(key));
  expect_refused(s.submit_for(key), Code::kQuotaExceeded, Quota::kRunningJobs);
  EXPECT_TRUE(s.submit_for("")) << "the tenant's other keys are not limited";
  EXPECT_EQ(s.use_of_key(key).running_jobs, 1);
  EXPECT_EQ(s.use().running_jobs, 2);
}

TEST(Quotas, PagesCountWhenTheirNumberIsKnown) {
  QuotaStore s;
  s.limit(Quota::kPagesPerDay, 10);
  const Lease first = s.submit_and_claim();
  EXPECT_EQ(s.total(first, 8), ReportResult::kApplied);
  EXPECT_EQ(s.total(first, 8), ReportResult::kApplied) << "a repeated report counts nothing";
  EXPECT_EQ(s.use().in_period.pages, 8);
  const Lease second = s.submit_and_claim();
  EXPECT_EQ(s.split(second, 3), ReportResult::kLeaseLost);
  const schemas::JobView failed = s.view(second.job);
  EXPECT_EQ(failed.status, JobStatus::kFailed);
  EXPECT_EQ(failed.error->code, Code::kQuotaExceeded);
  EXPECT_EQ(s.use().in_period.pages, 8);
}

TEST(Quotas, AtTheLimitOfPagesJobsAreRefusedUntilTheNextDay) {
  QuotaStore s;
  s.limit(Quota::kPagesPerDay, 8);
  s.total(s.submit_and_claim(), 8);
  const auto refused = s.try_submit(s.order());
  expect_refused(refused, Code::kQuotaExceeded, Quota::kPagesPerDay);
  EXPECT_GT(refused.error().retry_after.count(), 0);
  s.clock.advance(24h);
  EXPECT_TRUE(s.try_submit(s.order()));
}

TEST(Quotas, AMachineThatExceedsALimitIsRefused) {
  struct Case {
    Quota quota;
    std::int64_t limit;
  };
  for (const auto& [quota, limit] :
       {Case{Quota::kMachines, 1}, {Quota::kVcpu, 1}, {Quota::kMemoryMib, 1024}, {Quota::kStorageGib, 4}}) {
    QuotaStore s;
    s.limit(quota, limit);
    EXPECT_TRUE(s.create(s.new_machine()));
    expect_refused(s.create(s.new_machine()), Code::kQuotaFull, quota);
    EXPECT_TRUE(s.create(s.new_machine("other")));
  }
}

TEST(Quotas, ADestroyedMachineFreesItsPlace) {
  QuotaStore s;
  s.limit(Quota::kMachines, 1);
  const base::Uuid id = s.awake();
  EXPECT_FALSE(s.create(s.new_machine()));
  ASSERT_TRUE(s.submit_command(id, MachineCommand::kDestroy));
  s.do_act();
  EXPECT_TRUE(s.create(s.new_machine()));
}

schemas::MachineChange memory(int mib) {
  schemas::MachineChange change;
  change.memory_mib = mib;
  return change;
}

TEST(Quotas, AMachineGrowsOnlyWithinTheLimits) {
  QuotaStore s;
  const base::Uuid id = s.awake();
  s.limit(Quota::kMemoryMib, 2048);
  expect_refused(s.change(id, memory(2049)), Code::kQuotaFull, Quota::kMemoryMib);
  EXPECT_TRUE(s.change(id, memory(2048)));
  s.limit(Quota::kMemoryMib, 100);
  EXPECT_TRUE(s.change(id, memory(1024))) << "it may shrink above a limit that was set later";
  schemas::MachineChange name;
  name.name = "renamed";
  EXPECT_TRUE(s.change(id, name));
}

TEST(Quotas, AReplayedCreationNeedsNoPlace) {
  QuotaStore s;
  s.limit(Quota::kMachines, 1);
  const schemas::Machine machine = s.new_machine();
  ASSERT_TRUE(s.create(machine, s.call("once")));
  EXPECT_TRUE(s.create(machine, s.call("once"))->replayed);
}

TEST(Quotas, SshSessionsAreCountedWhileTheyAreOpen) {
  QuotaStore s;
  const base::Uuid id = s.awake();
  s.limit(Quota::kSshSessions, 1);
  const auto create = [&] {
    return await<CallReply>([&](auto done) {
      SshSessions(s.store()).create(
          {s.new_act().uuid, id, "ssh-ed25519 AAAA", 15min}, s.call(),
          [](const auto&, const auto&) { return schemas::SshConnection{}; },
          [](const auto&) { return std::string("{}"); }, done);
    });
  };
  ASSERT_TRUE(create());
  expect_refused(create(), Code::kQuotaFull, Quota::kSshSessions);
  s.clock.advance(16min);
  EXPECT_TRUE(create());
}

// Random jobs in all states: the counters equal a count of the rows.
TEST(Quotas, TheCountersEqualACountOfTheRows) {
  QuotaStore s;
  std::mt19937 random(27);
  std::vector<Lease> running;
  for (int i = 0; i < 400; ++i) {
    switch (random() % 6) {
      case 0:
      case 1:
        s.submit();
        break;
      case 2:
        for (auto& job : s.claim(1)) running.push_back(job.lease);
        break;
      case 3:
        if (!running.empty())
          s.part(running.back(), static_cast<int>(random() % 3), std::string(random() % 50, 'p'));
        break;
      case 4:
        if (!running.empty()) s.finish(running.back(), std::string(random() % 90, 'r')), running.pop_back();
        break;
      case 5:
        if (!running.empty()) (void)s.cancel(running.front().job);
        break;
    }
  }
  struct Sum {
    std::int64_t open, stored, charged, bytes;
  };
  const Sum sum = read(s.store().readers(), [](Db& db) {
                    auto q = db.prepare(
                        "SELECT (SELECT count(*) FROM jobs WHERE status < 3), (SELECT count(*) FROM jobs), "
                        "(SELECT sum(bytes) FROM jobs), (SELECT sum(length(bytes)) FROM job_specs) + "
                        "(SELECT coalesce(sum(length(bytes)), 0) FROM job_parts) + "
                        "(SELECT coalesce(sum(length(bytes)), 0) FROM job_results)");
                    q.step();
                    return Sum{q.integer(0), q.integer(1), q.integer(2), q.integer(3)};
                  }).value();
  EXPECT_EQ(s.use().running_jobs, sum.open);
  EXPECT_EQ(s.use().stored_jobs, sum.stored);
  EXPECT_EQ(s.use().stored_bytes, sum.bytes);
  EXPECT_EQ(sum.charged, sum.bytes);
}

}  // namespace
}  // namespace millrace::storage::testing

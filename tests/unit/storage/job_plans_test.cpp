#include <set>

#include <sqlite3.h>

#include "storage/machine_rows.h"
#include "storage/readers.h"
#include "storage/sqlite.h"
#include "tests/unit/storage/job_store.h"

// No statement of a job's life walks the jobs: asked of SQLite itself, for every statement that a life has
// prepared.
namespace millrace::storage::testing {
namespace {

// A command's life beside it, and its machine's.
void run_commands(JobStore& s) {
  const Lease lease = s.run_command();
  s.tell(lease, {{"stdout", "{}"}});
  s.finish(lease);
  (void)s.queries().record(kTenant, lease.job);
  (void)s.queries().lane(kTenant, schemas::Kind::kExec, "dm-1", 9, {});
  (void)s.queries().secret(lease.job);
  s.finish(s.run_command());
  s.forget(lease.job).value();
  Machines machines(s.store());
  schemas::Machine machine;
  machine.id = base::Uuid::make(s.clock.wall());
  machine.tenant = kTenant;
  await<schemas::Machine>([&](auto done) { machines.create(machine, done); }).value();
  const auto fresh = base::Uuid::make(s.clock.wall());
  await<schemas::Machine>([&](auto done) { machines.ensure_local(kTenant, fresh, done); }).value();
  (void)machines.machine(kTenant, machine.id);
  (void)machines.list(kTenant, 9, {});
}

// One life of everything, so that every role prepares what it has.
void live(JobStore& s) {
  auto order = s.order();
  order.idempotency = IdempotencyKey{"POST", "/v1/ocr", "k", {}};
  run_commands(s);
  s.submit(order);
  (void)s.try_submit(order);
  const Lease parent = s.claim_one();
  s.beat({parent});
  s.part(parent, 0);
  s.part(parent, 0, "1", true);
  s.total(parent, 3);
  s.split(parent, 3);
  s.finish(s.claim_one());
  RetryPlan plan;
  plan.delay = 1s;
  s.retry(s.claim_one(), plan);
  s.clock.advance(1s);
  s.release_due();
  s.cancel(parent.job).value();
  s.cancel_orphans();
  (void)s.retry_job(parent.job);
  s.claim_one();
  s.release_worker();
  s.let_leases_end();
  s.expire_deadlines();
  (void)await<std::vector<Ready>>(
      [&](auto done) { s.upkeep().take_for_publication(schemas::Kind::kOcr, done); });
  (void)await<bool>([&](auto done) { s.upkeep().publication_done(parent.job, 1, false, done); });
  s.clock.advance(6s);
  s.beat({}, 2, 0);
  s.clock.advance(6s);
  s.beat({}, 2, 0);
  (void)await<std::vector<Ready>>(
      [&](auto done) { s.upkeep().republish_lost(schemas::Kind::kOcr, 1s, 9, done); });
  (void)await<std::vector<Ready>>([&](auto done) { s.upkeep().republish_outbox(9, done); });
  s.clock.advance(8 * 24h);
  for (int i = 0; i < 2; ++i) {
    s.step([&](auto done) { s.upkeep().drop_results(24h, 9, done); });
    s.step([&](auto done) { s.upkeep().drop_jobs(24h, 9, done); });
    s.step([&](auto done) { s.upkeep().drop_idempotency(9, done); });
  }
  (void)await<std::vector<std::string>>([&](auto done) { s.upkeep().drop_blobs(9, done); });
  s.submit();
  (void)s.queries().list(kTenant, {.status = "failed"}, 9, {});
  (void)s.queries().depths();
  (void)s.upkeep().next_due(kLease);
}

std::set<std::string> walks(Db& db) {
  std::set<std::string> statements, found;
  for (auto* s = sqlite3_next_stmt(db.handle(), nullptr); s != nullptr;
       s = sqlite3_next_stmt(db.handle(), s)) {
    statements.insert(sqlite3_sql(s));
  }
  for (const auto& sql : statements) {
    sqlite3_stmt* plan = nullptr;
    const std::string explain = "EXPLAIN QUERY PLAN " + sql;
    if (sqlite3_prepare_v2(db.handle(), explain.c_str(), -1, &plan, nullptr) != SQLITE_OK) continue;
    while (sqlite3_step(plan) == SQLITE_ROW) {
      const std::string detail = reinterpret_cast<const char*>(sqlite3_column_text(plan, 3));
      if (detail.starts_with("SCAN")) found.insert(detail);
    }
    sqlite3_finalize(plan);
  }
  EXPECT_GT(statements.size(), 5u);
  return found;
}

// Short by their nature: as many rows as jobs run, parents end with open children, workers live, tokens are
// out.
const std::set<std::string> kShort = {"SCAN jobs USING COVERING INDEX jobs_running",
                                      "SCAN jobs USING COVERING INDEX jobs_delayed",
                                      "SCAN p USING INDEX jobs_orphaning",
                                      "SCAN p USING COVERING INDEX jobs_orphaning",
                                      "SCAN w",
                                      "SCAN outbox",
                                      "SCAN CONSTANT ROW",
                                      "SCAN blobs USING COVERING INDEX blobs_unreferenced",
                                      "SCAN blobs USING INDEX blobs_unreferenced"};

bool is_short(const std::string& walk) {
  return kShort.contains(walk) || walk.starts_with("SCAN (subquery") || walk.starts_with("SCAN SUBQUERY");
}

TEST(JobPlans, NoStatementOfAJobsLifeWalksTheJobs) {
  for (const bool outbox : {false, true}) {
    JobStore s(outbox);
    live(s);
    auto written = std::make_shared<std::set<std::string>>();
    await<bool>([&](Done<bool> done) {
      s.store().writer().submit(
          Writer::Priority::kUrgent, 1,
          [written](Tx& tx) {
            *written = walks(tx.db);
            return base::Status{};
          },
          [done](base::Status) { done(true); });
    }).value();
    for (const auto& walk : *written) EXPECT_TRUE(is_short(walk)) << walk;
    ASSERT_TRUE(s.store().readers().read([&](Db& db) {
      for (const auto& walk : walks(db)) EXPECT_TRUE(is_short(walk)) << walk;
    }));
  }
}

}  // namespace
}  // namespace millrace::storage::testing

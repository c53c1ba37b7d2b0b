#include <algorithm>
#include <set>

#include <sqlite3.h>

#include "storage/admin/admin_queries.h"
#include "storage/admin/audit.h"
#include "storage/db/db.h"
#include "storage/machines/artifacts.h"
#include "storage/machines/machines.h"
#include "storage/machines/ssh_sessions.h"
#include "storage/writer/readers.h"
#include "tests/unit/storage/fake_blob.h"
#include "tests/unit/storage/machine_store.h"
#include "tests/unit/storage/opened_store.h"

// No statement in a job's life scans the jobs. The test checks SQLite's query plan of every statement that a
// life prepares.
namespace millrace::storage::testing {
namespace {

// The life of an execution.
void run_commands(JobStore& s) {
  const Lease lease = s.run_command();
  s.append_events(lease, {{"stdout", "{}"}});
  s.finish(lease);
  (void)s.queries().record(kTenant, lease.job);
  (void)s.queries().lane(kTenant, schemas::Kind::kExec, "dm-1", 9, {});
  (void)s.queries().secret(lease.job);
  s.finish(s.run_command());
  s.remove(lease.job).value();
}

IdempotentCall call_of(JobStore& s) {
  return {.tenant = kTenant, .actor = "key", .key = {}, .act = s.new_id(schemas::Kind::kMachine)};
}

// SSH sessions of a machine: one that is issued and closed, and one that waits until it fails.
void run_sessions(JobStore& s, const base::Uuid& machine) {
  SshSessions sessions(s.store());
  const auto reply = [](const schemas::SshSession&) { return std::string("{}"); };
  const auto issue = [](const schemas::SshSession&, const schemas::Machine&) {
    return schemas::SshConnection();
  };
  const auto id = base::Uuid::make(s.clock.wall());
  const SshSessions::Request request{id, machine, "ssh-ed25519 AAAA", 1min};
  await<CallReply>([&](auto done) { sessions.create(request, call_of(s), issue, reply, done); }).value();
  await<schemas::SshSession>([&](auto done) {
    sessions.refresh(kTenant, machine, id, "key", issue, done);
  }).value();
  await<CallReply>([&](auto done) { sessions.close(machine, id, call_of(s), reply, done); }).value();
  (void)sessions.session(kTenant, machine, id);
  (void)sessions.list(kTenant, machine, 9, {});
  (void)sessions.revoked();
  (void)write(s.store(), [machine](Tx& tx) {
    fail_waiting_sessions(tx, machine, {base::Code::kMachineWakeFailed, ""});
    return base::Status{};
  });
}

void run_artifacts(JobStore& s, const base::Uuid& machine) {
  const Lease lease = s.run_command();
  const auto left = base::Uuid::make(s.clock.wall());
  const auto file = std::make_shared<FakeBlob>("left", "plan");
  await<ReportResult>([&](auto done) {
    s.outcomes().artifacts(lease, machine, {{left, "a", "text/plain", file}}, done);
  }).value();
  Artifacts artifacts(s.store());
  (void)artifacts.list(kTenant, machine, 9, {});
  (void)artifacts.list(kTenant, machine, 9, {}, lease.job);
  (void)artifacts.artifact(kTenant, machine, left);
  const auto reply = [](const schemas::Artifact&) { return std::string("{}"); };
  await<CallReply>([&](auto done) { artifacts.remove(machine, left, call_of(s), reply, done); }).value();
  s.finish(lease);
}

void run_machines(JobStore& s) {
  Machines machines(s.store());
  schemas::Machine machine;
  machine.id = base::Uuid::make(s.clock.wall());
  machine.tenant = kTenant;
  const auto reply = [](const schemas::Machine&) { return std::string("{}"); };
  await<CallReply>([&](auto done) { machines.create(machine, call_of(s), reply, done); }).value();
  const auto fresh = base::Uuid::make(s.clock.wall());
  const auto act = s.new_id(schemas::Kind::kMachine);
  await<schemas::Machine>([&](auto done) { machines.ensure_local(kTenant, fresh, act, done); }).value();
  (void)machines.machine(kTenant, machine.id);
  (void)machines.list(kTenant, 9, {});
  run_sessions(s, machine.id);
  run_artifacts(s, machine.id);
  (void)Audit(s.store()).verify();
}

// The operations of a machine, and the jobs that wait for it.
void run_acts(MachineStore& s) {
  s.claim_acts();  // of the machines above
  const base::Uuid id = s.awake(60);
  s.change(id, {}, s.call("k")).value();
  s.change(id, {}, s.call("k")).value();
  s.execute(id);
  s.finish(s.claim_executions().at(0).lease);
  s.clock.advance(2min);
  s.put_to_sleep();
  s.do_act();
  const auto waits = s.execute(id);
  s.execute(id);
  (void)s.machine_maintenance().next_due();
  s.cancel(waits).value();
  s.settle();
  s.do_act();
  s.begin_acts();
  (void)await<bool>([&](auto done) { s.machines().touch(id, done); });
  (void)s.machines().running_on(id);
  (void)s.machines().has_live_endpoint(s.look(id));
  (void)s.take({s.new_machine()});
  s.do_act();
  s.submit_command(id, MachineCommand::kForcedReboot).value();
  s.fail_act({base::Code::kMachineWakeFailed, "no"});
  s.submit_command(id, MachineCommand::kDestroy).value();
  s.do_act();
  s.step([&](auto done) { s.machine_maintenance().drop_replies(9, done); });
  s.step([&](auto done) { s.machine_maintenance().drop_sessions(9, done); });
}

// Only the lane with that name is full.
struct FullAndOpenLanes final : ClaimLanes {
  struct Open final : Permit {
    void leave() override {}
  };
  PermitPtr take(const std::string& lane, const std::string& /*tenant*/) override {
    return lane == "full" ? nullptr : std::make_shared<Open>();
  }
};

void run_completions(JobStore& s) {
  const auto submit = [&](const std::string& model) {
    auto order = s.order();
    order.id = s.new_id(schemas::Kind::kChat);
    order.model = model;
    s.submit(order);
  };
  for (int i = 0; i < 20; ++i) submit("full");
  for (int i = 0; i < 3; ++i) submit("open");
  const auto claimed = s.claim({.kind = schemas::Kind::kChat,
                                .worker = "w-1",
                                .count = 2,
                                .lanes = std::make_shared<FullAndOpenLanes>()});
  ASSERT_EQ(claimed.size(), 2u);
  s.finish(claimed[0].lease);
  s.finish(claimed[1].lease);
}

// Its late parts alternate with another job.
void run_long_document(JobStore& s) {
  const Lease parent = s.submit_and_claim();
  s.split(parent, 4);
  s.submit();
  for (const ClaimedJob& each : s.claim(5)) s.finish(each.lease);
  s.finish(s.claim_one());
}

// Leases as administrators see them: of a first attempt, of a later attempt and of a part.
void look_at_leases(JobStore& s) {
  s.return_to_queue(s.submit_and_claim());
  const Lease again = s.claim_one();
  const Lease parent = s.submit_and_claim();
  s.split(parent, 1);
  const Lease part = s.claim_one();
  EXPECT_GE(AdminQueries(s.store()).leases().value().at(0).held, 2);
  for (const Lease& lease : {again, part}) s.finish(lease);
  s.finish(s.claim_one());
}

// Runs one life of every object, so that every role prepares all its statements.
void live(MachineStore& s) {
  auto order = s.order();
  order.idempotency = IdempotencyKey{"POST", "/v1/ocr", "k", {}};
  run_commands(s);
  run_completions(s);
  run_machines(s);
  run_acts(s);
  run_long_document(s);
  look_at_leases(s);
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
  (void)await<std::vector<ReadyJob>>(
      [&](auto done) { s.upkeep().select_for_publication(schemas::Kind::kOcr, done); });
  (void)await<bool>([&](auto done) { s.upkeep().record_publication(parent.job, 1, false, done); });
  s.clock.advance(6s);
  s.beat({}, 2, 0);
  s.clock.advance(6s);
  s.beat({}, 2, 0);
  (void)await<std::vector<ReadyJob>>(
      [&](auto done) { s.upkeep().republish_lost(schemas::Kind::kOcr, 1s, 9, done); });
  (void)await<std::vector<ReadyJob>>([&](auto done) { s.upkeep().republish_outbox(9, done); });
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
  for (auto* s = sqlite3_next_stmt(sqlite_handle(db), nullptr); s != nullptr;
       s = sqlite3_next_stmt(sqlite_handle(db), s)) {
    statements.insert(sqlite3_sql(s));
  }
  for (const auto& sql : statements) {
    sqlite3_stmt* plan = nullptr;
    const std::string explain = "EXPLAIN QUERY PLAN " + sql;
    if (sqlite3_prepare_v2(sqlite_handle(db), explain.c_str(), -1, &plan, nullptr) != SQLITE_OK) continue;
    while (sqlite3_step(plan) == SQLITE_ROW) {
      const std::string detail = reinterpret_cast<const char*>(sqlite3_column_text(plan, 3));
      if (detail.starts_with("SCAN")) found.insert(detail);
    }
    sqlite3_finalize(plan);
  }
  EXPECT_GT(statements.size(), 5u);
  return found;
}

// The parts of the plans that name `index`.
std::vector<std::string> uses_of(Db& db, const std::string& index) {
  std::vector<std::string> found;
  for (auto* s = sqlite3_next_stmt(sqlite_handle(db), nullptr); s != nullptr;
       s = sqlite3_next_stmt(sqlite_handle(db), s)) {
    sqlite3_stmt* plan = nullptr;
    const std::string explain = std::string("EXPLAIN QUERY PLAN ") + sqlite3_sql(s);
    if (sqlite3_prepare_v2(sqlite_handle(db), explain.c_str(), -1, &plan, nullptr) != SQLITE_OK) continue;
    while (sqlite3_step(plan) == SQLITE_ROW) {
      const std::string detail = reinterpret_cast<const char*>(sqlite3_column_text(plan, 3));
      if (detail.find(index) != std::string::npos) found.push_back(detail);
    }
    sqlite3_finalize(plan);
  }
  return found;
}

TEST(JobPlans, TheDeadlineScanSeeksBehindTheJobsThatItHasRead) {
  JobStore s;
  s.submit();
  s.clock.advance(25h);
  s.expire_deadlines();
  ASSERT_TRUE(write(s.store(), [](Tx& tx) -> base::Status {
    const auto uses = uses_of(tx.db, "jobs_ready");
    const auto is_read = [](const std::string& use) {
      return use == "SEARCH jobs USING INDEX jobs_ready (kind=? AND tenant=? AND priority=? AND id>?)";
    };
    EXPECT_TRUE(std::ranges::any_of(uses, is_read)) << ::testing::PrintToString(uses);
    return {};
  }));
}

TEST(JobPlans, CountingDelayedJobsReadsOnlyTheirIndexAndOnlyTheirKind) {
  JobStore s;
  EXPECT_TRUE(s.queries().depths().has_value());
  ASSERT_TRUE(s.store().readers().read([](Db& db) {
    const auto uses = uses_of(db, "jobs_delayed");
    EXPECT_EQ(uses.size(), 2u);
    for (const auto& use : uses) {
      EXPECT_TRUE(use.starts_with("SEARCH jobs USING COVERING INDEX jobs_delayed (schedule=? AND kind=?"))
          << use;
    }
  }));
}

// These scans are short: they read as many rows as there are running jobs, ended parents with open children,
// live workers, published tokens or rows of a counted table. Machines of the configuration file are read at
// start-up, and idle machines in the order of their times.
const std::set<std::string> kShort = {"SCAN jobs USING COVERING INDEX jobs_running",
                                      "SCAN jobs USING COVERING INDEX jobs_delayed",
                                      "SCAN p USING INDEX jobs_orphaning",
                                      "SCAN p USING COVERING INDEX jobs_orphaning",
                                      "SCAN w",
                                      "SCAN outbox",
                                      "SCAN sqlite_sequence",
                                      "SCAN ssh_closes",
                                      "SCAN machines",
                                      "SCAN machines USING INDEX machines_listed",
                                      "SCAN machines USING INDEX machines_astray",
                                      "SCAN machines USING INDEX machines_drowsy",
                                      "SCAN CONSTANT ROW",
                                      "SCAN one",        // a subquery without a table
                                      "SCAN published",  // subqueries with a limit
                                      "SCAN counted",
                                      "SCAN newest",
                                      "SCAN blobs USING COVERING INDEX blobs_unreferenced",
                                      "SCAN blobs USING INDEX blobs_unreferenced"};

bool is_short(const std::string& walk) {
  return kShort.contains(walk) || walk.starts_with("SCAN (subquery") || walk.starts_with("SCAN SUBQUERY") ||
         walk.ends_with(" CONSTANT ROWS");  // rows of a group, inserted together
}

TEST(JobPlans, NoStatementOfAJobsLifeWalksTheJobs) {
  for (const bool outbox : {false, true}) {
    MachineStore s(outbox);
    live(s);
    auto written = std::make_shared<std::set<std::string>>();
    await<bool>([&](Callback<bool> done) {
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

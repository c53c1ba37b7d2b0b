#include <algorithm>
#include <iterator>

#include "storage/admin/admin_queries.h"
#include "storage/jobs/job_rows.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/migrations.h"
#include "tests/unit/storage/job_store.h"

// Lists with filters that match few jobs. Each test allows so few examined rows that a scan over the other
// rows would find nothing.
namespace millrace::storage::testing {
namespace {

constexpr int kOthers = 9;
constexpr int kFewRows = 4;

std::vector<schemas::JobId> names_of(const JobPage& page) {
  std::vector<schemas::JobId> found;
  for (const auto& view : page.items) found.push_back(view.id);
  return found;
}

class JobLists : public ::testing::Test {
 protected:
  void others() {
    for (int i = 0; i < kOthers; ++i) s.submit();
  }
  void expect_own(const JobFilter& filter, const std::vector<schemas::JobId>& jobs) {
    const JobPage own = s.queries().list(kTenant, filter, 5, {}, kFewRows).value();
    EXPECT_EQ(names_of(own), jobs);
    EXPECT_EQ(own.next, std::nullopt);
  }
  // Checks that a tenant and an administrator find the same complete page with few examined rows.
  void expect_found(const JobFilter& filter, const std::vector<schemas::JobId>& jobs) {
    expect_own(filter, jobs);
    const JobPage all = AdminQueries(s.store()).jobs(filter, 5, {}, kFewRows).value();
    EXPECT_EQ(names_of(all), jobs);
    EXPECT_EQ(all.next, std::nullopt);
  }

  JobStore s;
};

TEST_F(JobLists, WhatRunsIsFoundAmongManyThatWait) {
  const Lease lease = s.submit_and_claim();
  others();
  expect_found({.status = "running"}, {lease.job});
  expect_found({.kind = schemas::Kind::kChat, .status = "running"}, {});
}

TEST_F(JobLists, AParentWhoseChildrenWaitIsFoundAsRunning) {
  const Lease parent = s.submit_and_claim();
  s.split(parent, 2);
  others();
  expect_found({.status = "running"}, {parent.job});
}

TEST_F(JobLists, WhatWaitsIsFoundAmongManyThatAreOver) {
  const auto waiting = [this] {
    auto order = s.order();
    order.priority = -100;
    return s.submit(order);
  }();
  others();
  for (int i = 0; i < kOthers; ++i) s.finish(s.claim_one());
  expect_found({.status = "queued"}, {waiting});
}

TEST_F(JobLists, WhatFailedIsFoundByItsStatusAndByItsReason) {
  const Lease damaged = s.submit_and_claim();
  s.fail(damaged);
  const Lease timed_out = s.submit_and_claim();
  s.fail(timed_out, {base::Code::kPageTimeout, "slow"});
  const auto cancelled = s.submit();
  ASSERT_TRUE(s.cancel(cancelled));
  others();
  expect_found({.status = "failed"}, {timed_out.job, damaged.job});
  expect_found({.error = "document_damaged"}, {damaged.job});
  expect_found({.status = "failed", .error = "page_timeout"}, {timed_out.job});
  expect_found({.status = "cancelled"}, {cancelled});
  expect_found({.status = "expired"}, {});
  expect_found({.kind = schemas::Kind::kExec, .status = "failed"}, {});
}

TEST_F(JobLists, WhatSucceededIsFoundWhileItIsLittle) {
  const Lease lease = s.submit_and_claim();
  s.finish(lease);
  others();
  expect_found({.status = "succeeded"}, {lease.job});
}

TEST_F(JobLists, ARareModelOrKindIsFound) {
  auto order = s.order();
  order.model = "other/model";
  const auto other = s.submit(order);
  const auto command = s.submit(s.command());
  others();
  expect_found({.model = "other/model"}, {other});
  expect_found({.kind = schemas::Kind::kExec}, {command});
  expect_found({.kind = schemas::Kind::kOcr, .model = "other/model"}, {other});
  expect_found({.kind = schemas::Kind::kExec, .model = "other/model"}, {});
}

TEST_F(JobLists, TheBeginningOfAnIdIsFoundAndSoIsItsEnd) {
  const auto wanted = s.submit();
  s.clock.advance(1h);
  others();
  expect_found({.id_contains = wanted.str()}, {wanted});
  expect_found({.id_contains = wanted.str().substr(0, wanted.str().size() - 4)}, {wanted});
  expect_found({.id_contains = wanted.str().substr(wanted.str().size() - 8)}, {wanted});
  expect_found({.id_contains = "exec-"}, {});
  expect_found({.id_contains = "nothing has this"}, {});
}

TEST_F(JobLists, ATextIsFoundInIdsAndNamesInBothCasesPageByPage) {
  const auto submit_named = [&] {
    auto named = s.command();
    named.spec = R"({"command":["make","Release"]})";
    return s.submit(named);
  };
  const auto first = submit_named();
  others();
  const auto second = submit_named();
  others();
  expect_found({.kind = schemas::Kind::kExec, .text = "E rele"}, {second, first});
  expect_found({.kind = schemas::Kind::kExec, .text = second.str().substr(20)}, {second});
  expect_found({.kind = schemas::Kind::kExec, .text = "rele e"}, {});
  const JobPage page = s.queries().list(kTenant, {.text = "release"}, 1, {}, kListRowsMax).value();
  EXPECT_EQ(names_of(page), std::vector{second});
  EXPECT_EQ(names_of(s.queries().list(kTenant, {.text = "release"}, 1, page.next, kListRowsMax).value()),
            std::vector{first});
}

TEST_F(JobLists, ATextFromTheMiddleOfIdsIsFoundInTheOrderOfAllTenantsJobs) {
  std::vector<schemas::JobId> jobs;  // a large group, a small one, and one that has only the oldest jobs
  for (int i = 0; i < 1'200; ++i) {
    auto order = i < 3 ? s.command() : s.order(i % 100 == 0 ? "other" : kTenant);
    jobs.insert(jobs.begin(), s.submit(order));
  }
  const auto found = [this](const std::string& text) {
    std::vector<schemas::JobId> all;
    std::optional<base::Uuid> next;
    for (int pages = 0; pages == 0 || (next && pages < 1'000); ++pages) {
      const JobPage page = AdminQueries(s.store()).jobs({.id_contains = text}, 50, next, 100).value();
      for (const auto& id : names_of(page)) all.push_back(id);
      next = page.next;
    }
    return all;
  };
  for (const std::string text : {"7", "a1", "-8", "c4d", "ec-0", "0b", "nothing"}) {
    std::vector<schemas::JobId> wanted;
    std::ranges::copy_if(jobs, std::back_inserter(wanted), [&](const schemas::JobId& job) {
      return job.str().find(text) != std::string::npos;
    });
    EXPECT_EQ(found(text), wanted) << text;
  }
}

TEST_F(JobLists, ATextThatManyIdsOfManyGroupsHaveIsFoundPageByPage) {
  std::vector<schemas::JobId> jobs;
  for (int i = 0; i < 2'400; ++i)
    jobs.insert(jobs.begin(), s.submit(s.order("tenant" + std::to_string(i % 4))));
  const std::string begins = jobs.front().str().substr(4, 2);
  const JobPage first = AdminQueries(s.store()).jobs({.id_contains = begins}, 50, {}).value();
  ASSERT_EQ(first.items.size(), 50u);
  EXPECT_EQ(first.items.front().id, jobs.front());
  const JobPage next = AdminQueries(s.store()).jobs({.id_contains = begins}, 50, first.next).value();
  ASSERT_EQ(next.items.size(), 50u);
  EXPECT_EQ(next.items.front().id, jobs[50]);
}

TEST_F(JobLists, JobsCreatedBeforeATimeAreFoundWithoutReadingLaterOnes) {
  // Ids of earlier tests are later than this store's clock.
  s.clock.advance(s.new_id().uuid.time() - s.clock.wall());
  const auto first = s.submit();
  s.clock.advance(1h);
  const auto since = s.clock.wall();
  s.clock.advance(1min);
  others();
  expect_found({.created_before = since}, {first});
  expect_found({.created_before = since - 1h}, {});
}

TEST_F(JobLists, AnIdThatIsLaterThanItsRowsTimeIsFoundByThatTime) {
  const auto before = s.submit();
  s.clock.advance(12h);
  others();
  s.clock.jump_wall(-11h);
  const auto late = s.submit();  // its id continues after the others
  s.clock.advance(1min);
  const JobFilter early{.created_before = s.clock.wall()};
  EXPECT_EQ(names_of(s.queries().list(kTenant, early, 5, {}).value()), (std::vector{late, before}));
  s.reopen();
  EXPECT_EQ(names_of(s.queries().list(kTenant, early, 5, {}).value()), (std::vector{late, before}))
      << "the store has saved the clock skew of its ids";
}

TEST(JobListsOfAnOlderStore, TheIdClockSkewIsComputedOnce) {
  const support::TempDir dir;
  SqliteDb db({.path = dir.str() + "/older.db"});
  for (const Migration& step : migrations().first(12)) db.script(step.sql);
  const auto add = [&db](std::int64_t created_at, std::chrono::milliseconds ahead) {
    const base::Uuid id = base::Uuid::make(base::wall_from(created_at) + ahead);
    db.prepare(
          "INSERT INTO jobs (id, tenant, kind, status, priority, rerun, deadline, created_at, model, spec) "
          "VALUES (?1, 't', 1, 0, 0, 0, 0, ?2, 'm', 1)")
        .bind(id, created_at)
        .run();
  };
  const std::int64_t now =
      base::millis(base::SystemClock().wall()) + 400L * 86'400'000;  // later than all other ids
  add(now, -1min);
  add(now + 60'000, 300ms);
  db.script(migrations()[12].sql);
  EXPECT_EQ(id_clock_skew(db), kIdClockSkewMin);
  db.execute("DROP TABLE meta");
  add(now + 120'000, 3h + 7ms);
  add(now + 180'000 + 3 * 3'600'000, 2h);
  db.script(migrations()[12].sql);
  EXPECT_EQ(id_clock_skew(db), 3h + 7ms);
}

TEST_F(JobLists, AnAdministratorMayListOneTenant) {
  const auto theirs = s.submit(s.order("other"));
  others();
  const JobPage page = AdminQueries(s.store()).jobs({.tenant = "other"}, 5, {}, kFewRows).value();
  EXPECT_EQ(names_of(page), std::vector{theirs});
  EXPECT_EQ(page.items.at(0).tenant, "other");
  EXPECT_TRUE(s.queries().list(kTenant, {.tenant = "other"}, 5, {}).value().items.size() == 5u)
      << "a tenant sees only its own jobs, whatever it filters for";
}

TEST_F(JobLists, WhatOthersFailedOfIsNotShown) {
  s.submit(s.order("other"));
  s.fail(s.claim_one());
  EXPECT_TRUE(s.queries().list(kTenant, {.status = "failed"}, 5, {}).value().items.empty());
}

TEST_F(JobLists, JobsOfManyModelsComeInOneOrderPageByPage) {
  std::vector<schemas::JobId> jobs;
  for (int i = 0; i < 12; ++i) {
    auto order = i % 3 == 2 ? s.command() : s.order();
    if (i % 3 == 1) order.model = "other/model";
    jobs.insert(jobs.begin(), s.submit(order));
    s.clock.advance(1ms);
  }
  std::vector<schemas::JobId> found;
  std::optional<base::Uuid> next;
  do {
    const JobPage page = s.queries().list(kTenant, {}, 5, next).value();
    for (const auto& id : names_of(page)) found.push_back(id);
    next = page.next;
  } while (next);
  EXPECT_EQ(found, jobs);
}

TEST_F(JobLists, DeadLettersAreAllCountedByKindAndReason) {
  for (int i = 0; i < 3; ++i) s.fail(s.submit_and_claim());
  s.clock.advance(1s);
  const Lease newest = s.submit_and_claim();
  s.fail(newest);
  s.fail(s.submit_and_claim(), {base::Code::kPageTimeout, "slow"});
  s.finish(s.submit_and_claim());
  const auto failures = AdminQueries(s.store()).failures().value();
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].code, "document_damaged");
  EXPECT_EQ(failures[0].jobs, 4);
  EXPECT_EQ(failures[0].newest.id, newest.job);
  EXPECT_EQ(failures[1].code, "page_timeout");
  EXPECT_EQ(failures[1].jobs, 1);
}

}  // namespace
}  // namespace millrace::storage::testing

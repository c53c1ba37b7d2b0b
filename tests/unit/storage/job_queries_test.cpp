#include "storage/jobs/job_queries.h"

#include "storage/admin/admin_queries.h"
#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

std::vector<schemas::JobId> ids(const JobPage& page) {
  std::vector<schemas::JobId> found;
  for (const auto& view : page.items) found.push_back(view.id);
  return found;
}

JobPage list(JobStore& s, const JobFilter& filter, int limit = 100, std::optional<base::Uuid> before = {}) {
  return s.queries().list(kTenant, filter, limit, before).value();
}

TEST(JobQueries, AListIsNewestFirstAndContinuesAfterItsPage) {
  JobStore s;
  std::vector<schemas::JobId> jobs;
  for (int i = 0; i < 5; ++i) {
    jobs.insert(jobs.begin(), s.submit());
    s.submit(s.order("other"));
    s.clock.advance(1s);
  }
  const auto first = list(s, {}, 2);
  EXPECT_EQ(ids(first), (std::vector{jobs[0], jobs[1]}));
  const auto second = list(s, {}, 2, first.next);
  EXPECT_EQ(ids(second), (std::vector{jobs[2], jobs[3]}));
  const auto last = list(s, {}, 2, second.next);
  EXPECT_EQ(ids(last), std::vector{jobs[4]});
  EXPECT_EQ(last.next, std::nullopt);
  EXPECT_EQ(list(s, {}, 5).next, std::nullopt);
}

TEST(JobQueries, AListLooksAtSoManyRowsAndGoesOnBehindThem) {
  JobStore s;
  const Lease old = s.submit_and_claim();
  s.finish(old);
  s.clock.advance(1min);
  std::vector<schemas::JobId> jobs;
  for (int i = 0; i < 9; ++i) jobs.insert(jobs.begin(), s.submit());
  const JobFilter made_before{.created_before = s.clock.wall()};
  const auto look = [&](std::optional<base::Uuid> before) {
    return s.queries().list(kTenant, made_before, 5, before, 4).value();
  };
  const auto first = look({});
  EXPECT_TRUE(first.items.empty());
  EXPECT_EQ(first.next, jobs[3].uuid);
  const auto second = look(first.next);
  EXPECT_TRUE(second.items.empty());
  const auto third = look(second.next);
  EXPECT_EQ(ids(third), std::vector{old.job});
  EXPECT_EQ(third.next, std::nullopt);
  const auto all = s.queries().list(kTenant, {}, 5, {}, 4).value();
  EXPECT_EQ(ids(all), (std::vector{jobs[0], jobs[1], jobs[2], jobs[3]}));
  EXPECT_EQ(all.next, jobs[3].uuid);
}

TEST(JobQueries, AJobIsShownWithTheNameThatItsSpecHas) {
  JobStore s;
  auto order = s.order();
  order.spec = R"({"model":"m","inline_document":")" + std::string(22'000, 'A') +
               R"(","document_name":"march \"1\".pdf"})";
  const auto named = s.submit(order);
  s.clock.advance(1s);
  const auto unnamed = s.submit();
  const auto page = list(s, {}).items;
  ASSERT_EQ(page.size(), 2u);
  EXPECT_EQ(page[0].name, "");
  EXPECT_EQ(page[1].name, "march \"1\".pdf");
  EXPECT_EQ(s.view(named).name, "march \"1\".pdf");
  EXPECT_EQ(s.view(unnamed).name, "");
  EXPECT_EQ(s.queries().jobs(kTenant, {named}).value().at(0).name, "march \"1\".pdf");
  AdminQueries admin(s.store());
  EXPECT_EQ(admin.jobs({named}).value().at(0).name, "march \"1\".pdf");
  EXPECT_EQ(admin.jobs({}, 9, {})->items.at(1).name, "march \"1\".pdf");
  s.fail(s.claim_one());
  EXPECT_EQ(admin.failures().value().at(0).newest.name, "march \"1\".pdf");
  EXPECT_EQ(s.view(s.retry_job(named)->job).name, "march \"1\".pdf");
  s.clock.advance(2 * 24h);
  s.step([&](auto done) { s.upkeep().drop_results(24h, 9, done); });
  EXPECT_EQ(s.view(named).name, "march \"1\".pdf") << "the name remains as long as the job";
}

TEST(JobQueries, EveryFilterHoldsForEveryItem) {
  JobStore s;
  auto order = s.order();
  order.model = "other/model";
  const auto other_model = s.submit(order);
  s.clock.advance(1min);
  const auto middle = s.clock.wall();
  const Lease running = s.submit_and_claim();
  s.clock.advance(1min);
  const auto queued = s.submit();
  ASSERT_EQ(running.job, other_model);
  EXPECT_EQ(ids(list(s, {.model = "other/model"})), std::vector{other_model});
  EXPECT_EQ(ids(list(s, {.status = "running"})), std::vector{other_model});
  EXPECT_EQ(list(s, {.status = "queued"}).items.size(), 2u);
  EXPECT_TRUE(list(s, {.status = "failed"}).items.empty());
  EXPECT_EQ(list(s, {.created_after = middle}).items.size(), 2u);
  EXPECT_EQ(ids(list(s, {.created_before = middle})), std::vector{other_model});
  EXPECT_EQ(ids(list(s, {.id_contains = queued.str().substr(20)})), std::vector{queued});
  EXPECT_EQ(list(s, {.kind = schemas::Kind::kOcr}).items.size(), 3u);
}

TEST(JobQueries, AWaitingParentIsListedAsRunningAndItsChildrenNotAtAll) {
  JobStore s;
  const Lease parent = s.submit_and_claim();
  s.split(parent, 3);
  EXPECT_EQ(ids(list(s, {})), std::vector{parent.job});
  EXPECT_EQ(ids(list(s, {.status = "running"})), std::vector{parent.job});
}

TEST(JobQueries, ManyJobsAreReadAtOnceAndUnknownOnesAreLeftOut) {
  JobStore s;
  const auto a = s.submit();
  const auto b = s.submit();
  const auto views = *s.queries().jobs(kTenant, {b, s.new_id(), a});
  ASSERT_EQ(views.size(), 2u);
  EXPECT_EQ(views[0].id, b);
  EXPECT_EQ(views[1].id, a);
  const auto versions = *s.queries().versions({a, s.new_id()});
  ASSERT_EQ(versions.size(), 1u);
  EXPECT_EQ(versions[0].version, 1);
  EXPECT_EQ(versions[0].tenant, kTenant);
}

TEST(JobQueries, AJobWithoutAResultReportsIt) {
  JobStore s;
  const auto job = s.submit();
  EXPECT_FALSE(s.queries().result(kTenant, job)->payload.has_value());
  EXPECT_FALSE(s.queries().result(kTenant, job)->job.has_result);
}

TEST(JobQueries, DepthsCountWhatWaitsAndFindTheOldest) {
  JobStore s;
  const auto start = s.clock.wall();
  const Lease parent = s.submit_and_claim();
  s.split(parent, 2);
  s.claim_one();
  s.clock.advance(1min);
  auto order = s.order("b");
  order.priority = 9;
  s.submit(order);
  const Lease delayed = [&] {
    s.submit(s.order("c"));
    return s.claim({schemas::Kind::kOcr, "w-1", 2}).back().lease;
  }();
  RetryPlan plan;
  plan.delay = 1h;
  s.retry(delayed, plan);
  const auto depth = s.queries().depths()->at(0);
  EXPECT_EQ(depth.queued, 2);
  EXPECT_EQ(depth.running, 2);
  EXPECT_EQ(depth.waiting, 1);
  EXPECT_EQ(depth.oldest_queued, start);
}

}  // namespace
}  // namespace millrace::storage::testing

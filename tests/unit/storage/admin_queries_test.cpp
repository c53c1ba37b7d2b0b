#include "storage/admin/admin_queries.h"

#include <algorithm>
#include <numeric>

#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

const KindOutcomes& of(const RecentOutcomes& outcomes, schemas::Kind kind) {
  for (const KindOutcomes& each : outcomes.kinds) {
    if (each.kind == kind) return each;
  }
  throw std::runtime_error("no such kind");
}

void end_some(JobStore& s, int count, std::chrono::milliseconds wait, std::chrono::milliseconds run) {
  for (int i = 0; i < count; ++i) {
    s.submit();
    s.clock.advance(wait);
    const Lease lease = s.claim_one();
    s.clock.advance(run);
    s.finish(lease);
  }
}

TEST(AdminQueries, WhatEndedIsCountedByTheMinuteTheHourAndTheDay) {
  JobStore s;
  end_some(s, 3, 100ms, 1s);
  s.clock.advance(5min);
  end_some(s, 2, 100ms, 1s);
  const RecentOutcomes outcomes = AdminQueries(s.store()).outcomes().value();
  const KindOutcomes& ocr = of(outcomes, schemas::Kind::kOcr);
  EXPECT_EQ(ocr.minute.succeeded, 2);
  EXPECT_EQ(ocr.hour.succeeded, 5);
  EXPECT_EQ(ocr.good.back(), 2);
  EXPECT_EQ(ocr.good[kOutcomeMinutes - 6], 3);
  EXPECT_EQ(of(outcomes, schemas::Kind::kChat).day.succeeded, 0);
  EXPECT_EQ(outcomes.since, std::nullopt);
}

TEST(AdminQueries, BarsAreMinutesOfTheClockSoThatOnlyTheOneThatIsNotOverGrows) {
  JobStore s;
  s.clock.advance(60s -
                  std::chrono::milliseconds(base::millis(s.clock.wall()) % 60'000));  // start of a minute
  const auto bars = [&] { return of(AdminQueries(s.store()).outcomes().value(), schemas::Kind::kOcr).good; };
  end_some(s, 2, 0ms, 1s);
  s.clock.advance(56s);
  EXPECT_EQ(bars().back(), 2);
  s.clock.advance(3s);  // one second into the next minute; the jobs ended less than a minute ago
  const auto begun = bars();
  EXPECT_EQ(begun[kOutcomeMinutes - 2], 2);
  EXPECT_EQ(begun.back(), 0);
  for (int i = 0; i < 5; ++i) {
    end_some(s, 1, 0ms, 10s);
    const auto now = bars();
    EXPECT_TRUE(std::equal(now.begin(), now.end() - 1, begun.begin())) << i;
    EXPECT_EQ(now.back(), i + 1);
  }
}

TEST(AdminQueries, AnHourHasItsBarsAndWhatLiesBeforeTheFirstIsInNone) {
  JobStore s;
  s.clock.advance(60s - std::chrono::milliseconds(base::millis(s.clock.wall()) % 60'000));
  end_some(s, 1, 0ms, 30s);
  s.clock.advance(59min);
  KindOutcomes ocr = of(AdminQueries(s.store()).outcomes().value(), schemas::Kind::kOcr);
  EXPECT_EQ(ocr.good.front(), 1);
  s.clock.advance(30s);  // within the hour, but 60 clock minutes ago
  ocr = of(AdminQueries(s.store()).outcomes().value(), schemas::Kind::kOcr);
  EXPECT_EQ(std::accumulate(ocr.good.begin(), ocr.good.end(), 0), 0);
  EXPECT_EQ(ocr.hour.succeeded, 1);
}

TEST(AdminQueries, WaitsAndRunsAreOfTheLastHourByNearestRank) {
  JobStore s;
  end_some(s, 1, 10s, 20s);
  s.clock.advance(2h);
  end_some(s, 19, 100ms, 1s);
  end_some(s, 1, 400ms, 3s);
  const RecentOutcomes outcomes = AdminQueries(s.store()).outcomes().value();
  const KindOutcomes& ocr = of(outcomes, schemas::Kind::kOcr);
  EXPECT_EQ(ocr.wait.p50, 100ms);
  EXPECT_EQ(ocr.run.p50, 1s);
  EXPECT_EQ(ocr.run.p95, 1s);
  EXPECT_EQ(ocr.hour.succeeded, 20);
  EXPECT_EQ(ocr.day.succeeded, 21);
}

TEST(AdminQueries, ATruncatedCountReportsItsStartTime) {
  JobStore s;
  end_some(s, 4, 0ms, 1s);
  const RecentOutcomes outcomes = AdminQueries(s.store()).outcomes(3).value();
  EXPECT_EQ(of(outcomes, schemas::Kind::kOcr).day.succeeded, 3);
  EXPECT_EQ(outcomes.since, s.clock.wall() - 2s);
}

TEST(AdminQueries, JobsOfAllTenantsAreListedNewestFirstWithoutTheirChildren) {
  JobStore s;
  const auto first = s.submit();
  s.clock.advance(1s);
  const auto second = s.submit(s.order("other"));
  AdminQueries queries(s.store());
  const JobPage page = queries.jobs({}, 1, {}).value();
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].id, second);
  EXPECT_EQ(page.items[0].tenant, "other");
  const JobPage rest = queries.jobs({}, 9, page.next).value();
  ASSERT_EQ(rest.items.size(), 1u);
  EXPECT_EQ(rest.items[0].id, first);
  EXPECT_EQ(rest.next, std::nullopt);
  EXPECT_EQ(queries.jobs(std::vector{first, second, s.new_id()}).value().size(), 2u);
}

TEST(AdminQueries, AWorkerIsLiveWhileItReports) {
  JobStore s;
  s.beat({}, 4, 3);
  AdminQueries queries(s.store());
  const auto workers = queries.workers().value();
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_TRUE(workers[0].live);
  ASSERT_EQ(workers[0].slots.size(), 1u);
  EXPECT_EQ(workers[0].slots[0].used, 3);
  s.clock.advance(1min);
  EXPECT_FALSE(queries.workers().value()[0].live);
}

}  // namespace
}  // namespace millrace::storage::testing

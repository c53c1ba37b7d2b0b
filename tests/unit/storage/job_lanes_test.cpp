// Claims of kinds with lanes.
#include <map>

#include "tests/support/answer.h"
#include "tests/unit/storage/job_store.h"

namespace millrace::storage::testing {
namespace {

// Lanes with the number of permits that the test sets; other lanes have none.
class Permits final : public ClaimLanes, public std::enable_shared_from_this<Permits> {
 public:
  explicit Permits(std::map<std::string, int> free) : free_(std::move(free)) {}

  PermitPtr take(const std::string& lane, const std::string& /*tenant*/) override {
    const std::lock_guard lock(mutex_);
    ++asked_;
    if (free_[lane] == 0) return nullptr;
    --free_[lane];
    return std::make_shared<Held>(shared_from_this(), lane);
  }
  int free(const std::string& lane) {
    return locked([&] { return free_[lane]; });
  }
  int asked() {
    return locked([&] { return asked_; });
  }
  void open(const std::string& lane, int permits) {
    locked([&] { return free_[lane] += permits; });
  }

 private:
  class Held final : public Permit {
   public:
    Held(std::shared_ptr<Permits> of, std::string lane) : of_(std::move(of)), lane_(std::move(lane)) {}
    ~Held() override { leave(); }
    void leave() override {
      if (const auto of = std::exchange(of_, nullptr)) of->open(lane_, 1);
    }

   private:
    std::shared_ptr<Permits> of_;
    const std::string lane_;
  };
  template <class F>
  int locked(F&& f) {
    const std::lock_guard lock(mutex_);
    return f();
  }

  std::mutex mutex_;
  std::map<std::string, int> free_;
  int asked_ = 0;
};

class JobLanesOfAStore : public ::testing::Test {
 protected:
  Submission completion(const std::string& model, int priority = 0, const std::string& tenant = kTenant) {
    Submission order = s.order(tenant);
    order.id = s.new_id(schemas::Kind::kChat);
    order.model = model;
    order.priority = priority;
    return order;
  }
  schemas::JobId submit(const std::string& model, int priority = 0, const std::string& tenant = kTenant) {
    return s.submit(completion(model, priority, tenant));
  }
  // Submits one job in each of many lanes, with fewer commits than jobs.
  void submit_to_lanes(int count, const std::string& tenant = kTenant) {
    for (int i = 0; i < count; ++i) {
      const std::string lane = "m" + std::to_string(i);
      if (i % 100 == 99 || i + 1 == count) {
        submit(lane, 0, tenant);
      } else {
        s.intake().submit(completion(lane, 0, tenant), [](const base::Result<Submitted>&) {});
      }
    }
  }
  JobClaims::Request request(const std::shared_ptr<Permits>& permits, int count = 9) {
    JobClaims::Request request;
    request.kind = schemas::Kind::kChat;
    request.worker = "w-1";
    request.count = count;
    request.lanes = permits;
    return request;
  }
  std::vector<ClaimedJob> claim(const std::shared_ptr<Permits>& permits, int count = 9) {
    return s.claim(request(permits, count));
  }
  static std::vector<schemas::JobId> ids(const std::vector<ClaimedJob>& claimed) {
    std::vector<schemas::JobId> all;
    for (const ClaimedJob& job : claimed) all.push_back(job.lease.job);
    return all;
  }
  using Ids = std::vector<schemas::JobId>;

  JobStore s;
};

TEST_F(JobLanesOfAStore, JobsOfAFullLaneStayQueuedAndThoseOfOthersAreTaken) {
  const auto first = submit("busy"), waits = submit("busy"), idle = submit("idle");
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"busy", 1}, {"idle", 5}});
  const auto claimed = claim(permits);
  EXPECT_EQ(ids(claimed), (Ids{first, idle}));
  EXPECT_EQ(s.status(waits), JobStatus::kQueued);
  EXPECT_EQ(s.view(waits).version, 1);
  EXPECT_TRUE(claim(permits).empty());
}

TEST_F(JobLanesOfAStore, ALaneThatGetsAPermitIsClaimedInTheOrderOfSubmission) {
  const auto first = submit("busy"), second = submit("busy");
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"busy", 1}});
  auto one = claim(permits);
  EXPECT_EQ(ids(one), Ids{first});
  one[0].permit->leave();
  EXPECT_EQ(ids(claim(permits)), Ids{second});
}

TEST_F(JobLanesOfAStore, PriorityThenAgeDecideAmongTheLanesThatAreNotFull) {
  const auto a = submit("a"), b = submit("b"), closed = submit("closed", 9), urgent = submit("b", 5),
             last = submit("a");
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"a", 9}, {"b", 9}});
  EXPECT_EQ(ids(claim(permits)), (Ids{urgent, a, b, last}));
  EXPECT_EQ(s.status(closed), JobStatus::kQueued);
}

TEST_F(JobLanesOfAStore, TenantsTakeTurnsAmongTheLanesThatAreNotFull) {
  const auto x1 = submit("a", 0, "x"), x2 = submit("b", 0, "x"), y1 = submit("a", 0, "y");
  submit("closed", 0, "w");
  const auto y2 = submit("b", 0, "y");
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"a", 9}, {"b", 9}});
  EXPECT_EQ(ids(claim(permits, 3)), (Ids{x1, y1, x2}));
  s.reopen();
  EXPECT_EQ(ids(claim(permits)), Ids{y2});
}

TEST_F(JobLanesOfAStore, TheTenantThatRunsTheFewestJobsGoesFirstAmongTheLanesThatAreNotFull) {
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"a", 9}});
  for (int i = 0; i < 4; ++i) submit("a", 0, "x");
  auto running = claim(permits, 2);
  submit("full", 0, "w");
  const auto y1 = submit("a", 0, "y"), y2 = submit("a", 0, "y");
  EXPECT_EQ(ids(claim(permits, 2)), (Ids{y1, y2}));
}

TEST_F(JobLanesOfAStore, AReservedSlotIsForATenantThatRunsNoChat) {
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"a", 9}});
  for (int i = 0; i < 4; ++i) submit("a", 0, "x");
  auto running = claim(permits, 2);
  auto reserved_slots = request(permits, 0);
  reserved_slots.reserved_slots = 4;
  EXPECT_TRUE(s.claim(reserved_slots).empty());
  submit("full", 0, "w");
  const auto y = submit("a", 0, "y");
  EXPECT_EQ(ids(s.claim(reserved_slots)), Ids{y});
}

TEST_F(JobLanesOfAStore, AJobThatAClaimEndsKeepsNoPermit) {
  auto late = completion("a");
  late.deadline_after = 1min;
  const auto overdue = s.submit(late);
  const auto good = submit("a");
  s.clock.advance(1min);
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"a", 1}});
  EXPECT_EQ(ids(claim(permits)), Ids{good});
  EXPECT_EQ(s.status(overdue), JobStatus::kExpired);
  EXPECT_EQ(permits->free("a"), 1);  // the claimed jobs are gone
}

TEST_F(JobLanesOfAStore, AParkedClaimTakesTheJobOfALaneThatIsNoLongerFullWhenItIsRetried) {
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{});
  auto standing = request(permits);
  standing.withdrawn = std::make_shared<std::atomic<bool>>(false);
  support::Answer<std::vector<ClaimedJob>> answer;
  s.claims().claim(standing, answer.take());
  const auto job = submit("busy");
  EXPECT_EQ(s.status(job), JobStatus::kQueued);
  permits->open("busy", 1);
  s.claims().retry_parked_claims();
  EXPECT_EQ(ids(answer.wait().value()), Ids{job});
}

TEST_F(JobLanesOfAStore, AFullLanesBacklogIsNotWalked) {
  for (int i = 0; i < 200; ++i) submit("busy");
  const auto idle = submit("idle");
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"idle", 9}});
  EXPECT_EQ(ids(claim(permits)), Ids{idle});
  EXPECT_EQ(permits->asked(), 2);
}

TEST_F(JobLanesOfAStore, MoreLanesThanAreWalkedAtOnceAreAllReached) {
  submit_to_lanes(300);
  const auto last = submit("z");
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"z", 1}});
  EXPECT_EQ(ids(claim(permits)), Ids{last});
}

TEST_F(JobLanesOfAStore, TheOrderIsThatOfAllJobsHoweverManyLanesTheyLieIn) {
  submit_to_lanes(300, "a");
  const auto of_another = submit("z", 0, "b");
  const auto urgent = submit("z", 100, "a");
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"z", 9}, {"m0", 9}, {"m1", 9}});
  const auto first = claim(permits, 4);
  ASSERT_EQ(first.size(), 4U);
  EXPECT_EQ(first[0].lease.job, urgent);
  EXPECT_EQ(first[1].lease.job, of_another);
  EXPECT_EQ(first[2].model, "m0");
  EXPECT_EQ(first[3].model, "m1");
}

TEST_F(JobLanesOfAStore, PriorityThenAgeDecideBehindTheBacklogOfAFullLane) {
  for (int i = 0; i < 20; ++i) submit("busy", 9);
  const auto a = submit("a", 1), later = submit("b", 5), b = submit("b", 7), last = submit("a");
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"a", 9}, {"b", 9}});
  EXPECT_EQ(ids(claim(permits)), (Ids{b, later, a, last}));
}

TEST_F(JobLanesOfAStore, BehindMoreFullLanesThanOneClaimExaminesTheNextClaimFindsTheOneThatIsNotFull) {
  submit_to_lanes(1'300);
  const auto last = submit("z");
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"z", 1}});
  EXPECT_TRUE(claim(permits).empty());
  const int looked_at = permits->asked();
  EXPECT_LE(looked_at, 1'024 + 256);
  EXPECT_EQ(ids(claim(permits)), Ids{last});
  EXPECT_LE(permits->asked(), 2 * looked_at);
}

TEST_F(JobLanesOfAStore, FullLanesOfATenantHoldNoOtherTenantUpHoweverManyTheyAre) {
  submit_to_lanes(1'300, "a");
  const auto of_another = submit("z", 0, "b");
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"z", 1}});
  EXPECT_EQ(ids(claim(permits)), Ids{of_another});
}

TEST_F(JobLanesOfAStore, EachTenantsFullLanesArePassedOverWithinTheClaimsOfOneRound) {
  for (const char* tenant : {"a", "b", "c", "d", "e", "f"}) submit_to_lanes(270, tenant);
  const auto last = submit("z", 0, "g");
  const auto permits = std::make_shared<Permits>(std::map<std::string, int>{{"z", 1}});
  Ids found;
  for (int claims = 0; claims < 3 && found.empty(); ++claims) found = ids(claim(permits));
  EXPECT_EQ(found, Ids{last});
}

}  // namespace
}  // namespace millrace::storage::testing

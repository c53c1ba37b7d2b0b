// Rows of new jobs are written together (storage/jobs/job_rows.cpp).
#include <latch>

#include <sqlite3.h>

#include "storage/db/db.h"
#include "tests/unit/storage/job_store.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage::testing {
namespace {

// The outcomes of the operations that were submitted while the writer was blocked, in order.
class Group {
 public:
  explicit Group(JobStore& s) : s_(s), held_(s.store()) {}

  void submit(Submission order) {
    const std::size_t at = answers_.size();
    answers_.emplace_back();
    s_.intake().submit(std::move(order), [this, at](base::Result<Submitted> made) {
      const std::lock_guard lock(mutex_);
      answers_[at] = std::move(made);
      ++answered_;
      changed_.notify_all();
    });
  }
  const std::vector<std::optional<base::Result<Submitted>>>& answers() {
    held_.let_go();
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(support::wait_until(changed_, lock, [&] { return answered_ == answers_.size(); }));
    return answers_;
  }

 private:
  JobStore& s_;
  HeldWriter held_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t answered_ = 0;
  std::vector<std::optional<base::Result<Submitted>>> answers_;
};

TEST(JobInserts, EveryJobOfAGroupIsWrittenHoweverManyThereAre) {
  for (const std::size_t count : {1u, 2u, 3u, 31u, 32u, 33u, 75u}) {
    JobStore s;
    Group group(s);
    std::vector<Submission> orders;
    for (std::size_t i = 0; i < count; ++i) {
      orders.push_back(s.order());
      orders.back().spec = "{\"number\":" + std::to_string(i) + "}";
      group.submit(orders.back());
    }
    for (const auto& answer : group.answers()) EXPECT_TRUE(answer && *answer);
    const auto claimed = s.claim(static_cast<int>(count) + 1);
    ASSERT_EQ(claimed.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(claimed[i].lease.job, orders[i].id);
      EXPECT_EQ(claimed[i].spec, orders[i].spec) << "each job keeps its own spec";
    }
  }
}

// Plain jobs and other jobs are inserted by different statements.
TEST(JobInserts, JobsOfEverySortAreWrittenInAGroupAsTheyAre) {
  JobStore s;
  Group group(s);
  std::vector<Submission> orders;
  for (int i = 0; i < 9; ++i) {
    orders.push_back(s.order());
    orders.back().spec = "{\"number\":" + std::to_string(i) + "}";
    if (i % 3 == 1) orders.back().lane_key = "lane-" + std::to_string(i);
    if (i % 4 == 2)
      orders.back().idempotency =
          IdempotencyKey{.method = "POST", .path = "/v1/ocr", .key = std::to_string(i), .fingerprint = {}};
    group.submit(orders.back());
  }
  for (const auto& answer : group.answers()) EXPECT_TRUE(answer && *answer);
  const auto claimed = s.claim(10);
  ASSERT_EQ(claimed.size(), orders.size());
  for (std::size_t i = 0; i < orders.size(); ++i) {
    EXPECT_EQ(claimed[i].lease.job, orders[i].id);
    EXPECT_EQ(claimed[i].spec, orders[i].spec);
  }
  EXPECT_EQ(s.queries().lane(kTenant, schemas::Kind::kOcr, "lane-4", 9, {}).value().size(), 1u);
}

TEST(JobInserts, AJobThatCannotBeWrittenFailsAloneAndTheOthersOfItsGroupAreMade) {
  JobStore s;
  const schemas::JobId known = s.submit();
  Group group(s);
  auto first = s.order(), broken = s.order(), last = s.order();
  broken.id = known;
  group.submit(first);
  group.submit(broken);
  group.submit(last);
  const auto& answers = group.answers();
  EXPECT_TRUE(*answers[0]);
  EXPECT_EQ((*answers[1]).error().code, base::Code::kInternal);
  EXPECT_TRUE(*answers[2]);
  EXPECT_EQ(s.claim(10).size(), 3u);
}

TEST(JobInserts, AKeySentTwiceInOneGroupFindsTheJobThatTheFirstMakes) {
  JobStore s;
  Group group(s);
  for (int i = 0; i < 2; ++i) {
    auto order = s.order();
    order.idempotency = IdempotencyKey{.method = "POST", .path = "/v1/ocr", .key = "k", .fingerprint = {}};
    group.submit(order);
  }
  const auto& answers = group.answers();
  ASSERT_TRUE(*answers[0] && *answers[1]);
  EXPECT_FALSE((*answers[0])->replayed);
  EXPECT_TRUE((*answers[1])->replayed);
  EXPECT_EQ((*answers[0])->job, (*answers[1])->job);
}

TEST(JobInserts, WhoeverReadsInAGroupSeesTheJobsThatItHasMade) {
  JobStore s;
  const auto order = s.order();
  std::latch answered(2);
  HeldWriter held(s.store());
  s.intake().submit(order, [&](const base::Result<Submitted>&) { answered.count_down(); });
  s.store().writer().submit(
      Writer::Priority::kNormal, 0,
      [&](Tx& tx) -> base::Status {
        auto rows = tx.db.prepare("SELECT count(*) FROM jobs WHERE id = ?1");
        EXPECT_TRUE(rows.bind(order.id.uuid).step());
        EXPECT_EQ(rows.integer(0), 1);
        return {};
      },
      [&](const base::Status&) { answered.count_down(); });
  held.let_go();
  answered.wait();
}

TEST(JobInserts, ASpecThatIsWrittenAtOnceAndThoseThatWaitForTheirJobsHaveNumbersOfTheirOwn) {
  JobStore s;
  const auto old = s.submit();
  s.fail(s.claim_one());
  Group group(s);
  auto first = s.order(), last = s.order();
  first.spec = R"({"number":1})";
  last.spec = R"({"number":2})";
  std::latch retried(1);
  group.submit(first);
  s.intake().retry({.by = {.tenant = kTenant}, .old = old, .new_job = s.new_id(), .deadline_after = 24h},
                   [&](const base::Result<Submitted>& made) {
                     EXPECT_TRUE(made);
                     retried.count_down();
                   });
  group.submit(last);
  for (const auto& answer : group.answers()) EXPECT_TRUE(answer && *answer);
  retried.wait();
  std::vector<std::string> specs;
  for (const ClaimedJob& job : s.claim(9)) specs.push_back(job.spec);
  std::ranges::sort(specs);
  EXPECT_EQ(specs, (std::vector<std::string>{first.spec, last.spec, s.order().spec}));
}

// The opcodes that EXPLAIN shows for the connection's job inserts.
std::vector<std::string> insert_opcodes(Db& db) {
  std::vector<std::string> opcodes;
  std::vector<std::string> inserts;
  for (auto* s = sqlite3_next_stmt(sqlite_handle(db), nullptr); s != nullptr;
       s = sqlite3_next_stmt(sqlite_handle(db), s)) {
    if (std::string_view(sqlite3_sql(s)).starts_with("INSERT OR ROLLBACK INTO job"))
      inserts.emplace_back(sqlite3_sql(s));
  }
  for (const std::string& sql : inserts) {
    sqlite3_stmt* program = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(sqlite_handle(db), ("EXPLAIN " + sql).c_str(), -1, &program, nullptr),
              SQLITE_OK);
    while (sqlite3_step(program) == SQLITE_ROW)
      opcodes.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(program, 1)));
    sqlite3_finalize(program);
  }
  return opcodes;
}

// A function call in a multi-row statement makes SQLite copy each page that it changes (migration 0012).
TEST(JobInserts, NoFunctionIsCalledForARow) {
  JobStore s;
  Group group(s);
  for (int i = 0; i < 3; ++i) group.submit(s.order());
  for (const auto& answer : group.answers()) EXPECT_TRUE(answer && *answer);
  std::vector<std::string> opcodes;
  EXPECT_TRUE(write(s.store(), [&](Tx& tx) -> base::Status {
    opcodes = insert_opcodes(tx.db);
    return {};
  }));
  EXPECT_GT(std::ranges::count(opcodes, "MakeRecord"), 0);
  EXPECT_EQ(std::ranges::count(opcodes, "Function"), 0);
  EXPECT_EQ(std::ranges::count(opcodes, "PureFunc"), 0);
}

}  // namespace
}  // namespace millrace::storage::testing

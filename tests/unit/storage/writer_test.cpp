#include "storage/writer/writer.h"

#include <future>
#include <latch>

#include <gtest/gtest.h>

#include "storage/db/db.h"
#include "storage/writer/fair_write_lock.h"
#include "storage/writer/readers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"
#include "tests/unit/storage/opened_store.h"
#include "tests/unit/storage/page_limit.h"

namespace millrace::storage {
namespace {

using Priority = Writer::Priority;
using support::wait_until;

class WriterTest : public ::testing::Test {
 protected:
  void open(void (*change)(Store::Options&) = [](Store::Options&) {}) {
    Store::Options options = test_options(dir_.str());
    change(options);
    store_ = opened(options, clock_);
  }
  Writer& writer() { return store_->writer(); }

  support::TempDir dir_;
  base::ManualClock clock_;
  std::unique_ptr<Store> store_;
};

TEST_F(WriterTest, AnAnswerComesAfterItsCommit) {
  open();
  for (int i = 1; i <= 20; ++i) {
    ASSERT_TRUE(write(*store_, bump));
    EXPECT_EQ(bumps(*store_), i);
  }
}

TEST_F(WriterTest, OperationsThatWaitTogetherShareACommit) {
  open();
  HeldWriter held(*store_);
  std::latch answered(100);
  for (int i = 0; i < 100; ++i)
    writer().submit(Priority::kNormal, 0, bump, [&](base::Status) { answered.count_down(); });
  held.let_go();
  answered.wait();
  EXPECT_LE(store_->stats().groups_total, 2u);
  EXPECT_EQ(bumps(*store_), 100);
}

TEST_F(WriterTest, ManyUnfinishedOperationsMakeSharedCompletionsDue) {
  constexpr int kMany = 8;
  open();
  HeldWriter held(*store_);  // it counts as one of them
  std::latch answered(kMany - 1);
  const auto add_one = [&] {
    writer().submit(Priority::kNormal, 0, bump, [&](base::Status) { answered.count_down(); });
  };
  for (int i = 2; i < kMany; ++i) add_one();
  EXPECT_FALSE(store_->completions_are_due());
  add_one();
  EXPECT_TRUE(store_->completions_are_due());
  held.let_go();
  answered.wait();
  EXPECT_TRUE(wait_until([&] { return !store_->completions_are_due(); }));
}

TEST_F(WriterTest, AnErrorOfOneOperationLeavesTheOthersOfItsGroup) {
  open();
  HeldWriter held(*store_);
  std::promise<base::Status> refused, done;
  writer().submit(
      Priority::kNormal, 0, [](Tx&) -> base::Status { return base::error(base::Code::kInvalidState, "no"); },
      [&](base::Status s) { refused.set_value(std::move(s)); });
  writer().submit(Priority::kNormal, 0, bump, [&](base::Status s) { done.set_value(std::move(s)); });
  held.let_go();
  EXPECT_EQ(refused.get_future().get().error().code, base::Code::kInvalidState);
  EXPECT_TRUE(done.get_future().get());
  EXPECT_EQ(store_->stats().failed_groups_total, 0u);
}

TEST_F(WriterTest, OperationsOfAFailedGroupAreTriedAloneUrgentOnesFirst) {
  open();
  HeldWriter held(*store_);
  std::vector<char> order;
  std::latch answered(3);
  base::Status broken;
  const auto note = [&](char name, Writer::Operation then) {
    return [&order, name, then](Tx& tx) {
      order.push_back(name);
      return then(tx);
    };
  };
  writer().submit(Priority::kNormal, 0, note('n', bump), [&](base::Status) { answered.count_down(); });
  writer().submit(Priority::kNormal, 0,
                  note('x',
                       [](Tx& tx) -> base::Status {
                         static_cast<void>(bump(tx));
                         tx.db.prepare("INSERT INTO access_version VALUES (2, 0)").run();
                         return {};
                       }),
                  [&](base::Status s) {
                    broken = std::move(s);
                    answered.count_down();
                  });
  writer().submit(Priority::kUrgent, 0, note('u', bump), [&](base::Status) { answered.count_down(); });
  held.let_go();
  answered.wait();
  EXPECT_EQ(std::string(order.begin(), order.end()), "unxunx");
  EXPECT_EQ(broken.error().code, base::Code::kInternal);
  EXPECT_EQ(bumps(*store_), 2) << "the failed operation left no changes";
  EXPECT_EQ(store_->stats().failed_groups_total, 1u);
}

TEST_F(WriterTest, CompletionsRunInOrderAndTheCommitHookAfterThem) {
  open();
  std::vector<int> order;
  std::promise<void> hooked;
  store_->on_commit([&](const Commit& commit) {
    order.push_back(100 + static_cast<int>(commit.ready.size()));
    hooked.set_value();
  });
  HeldWriter held(*store_);
  for (int i = 0; i < 3; ++i) {
    writer().submit(
        Priority::kNormal, 0,
        [](Tx& tx) -> base::Status {
          tx.commit.ready.emplace_back();
          return {};
        },
        [&order, i](base::Status) { order.push_back(i); });
  }
  held.let_go();
  hooked.get_future().wait();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 103}));
}

TEST_F(WriterTest, TheTimeIsReadOnceAfterTheLockIsHeld) {
  open();
  auto line = FairWriteLock::open(dir_.str() + "/locks");
  ASSERT_TRUE(line);
  ASSERT_TRUE((*line)->acquire());
  const auto late = clock_.wall() + std::chrono::milliseconds(50);
  std::vector<base::WallTime> seen;
  std::latch answered(2);
  for (int i = 0; i < 2; ++i) {
    writer().submit(
        Priority::kUrgent, 0,
        [&](Tx& tx) -> base::Status {
          seen.push_back(tx.now);
          clock_.advance(std::chrono::milliseconds(7));
          return {};
        },
        [&](base::Status) { answered.count_down(); });
  }
  clock_.advance(std::chrono::milliseconds(50));
  (*line)->release();
  answered.wait();
  EXPECT_EQ(seen, (std::vector{late, late}));
}

TEST_F(WriterTest, AFullQueueIsRefusedAtOnceWithARetryAfter) {
  open([](Store::Options& o) { o.queue_max = 8; });
  HeldWriter held(*store_);
  int refused = 0;
  for (int i = 0; i < 10; ++i) {
    writer().submit(Priority::kNormal, 0, bump, [&, caller = std::this_thread::get_id()](base::Status s) {
      if (s || std::this_thread::get_id() != caller) return;
      EXPECT_EQ(s.error().code, base::Code::kOverloaded);
      EXPECT_GT(s.error().retry_after.count(), 0);
      EXPECT_NE(s.error().message.find("store.queue_max"), std::string::npos);
      ++refused;
    });
  }
  EXPECT_EQ(refused, 3) << "the blocked operation counts too";
}

TEST_F(WriterTest, BelowTheDiskMinimumSubmitsAreRefusedAndUrgentOperationsGoOn) {
  open([](Store::Options& o) { o.disk_free_min_bytes = std::int64_t{1} << 60; });
  EXPECT_FALSE(store_->health().disk_ok);
  EXPECT_NE(store_->health().disk_detail.find(" bytes free; store.disk_free_min is "), std::string::npos);
  const auto refused = write(*store_, bump);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::kOverloaded);
  EXPECT_GT(refused.error().retry_after.count(), 0);
  EXPECT_TRUE(write(*store_, bump, Priority::kUrgent));
}

TEST_F(WriterTest, ARefusalForTheDiskNamesTheLimitAndNoSizes) {
  open([](Store::Options& o) { o.disk_free_min_bytes = std::int64_t{1} << 60; });
  const std::string message = write(*store_, bump).error().message;
  EXPECT_NE(message.find("store.disk_free_min"), std::string::npos) << message;
  EXPECT_NE(message.find("Try again later"), std::string::npos) << message;
  EXPECT_EQ(message.find_first_of("0123456789"), std::string::npos) << message;
}

TEST_F(WriterTest, OnAFullDiskEachOperationIsTriedAloneAndFinishesGoFirst) {
  open();
  ASSERT_TRUE(write(*store_, [](Tx& tx) { return set_page_limit(tx, 0); }));
  HeldWriter held(*store_);
  const std::string big(200'000, 'x');
  std::promise<base::Status> large, finish;
  writer().submit(
      Priority::kNormal, big.size(),
      [&](Tx& tx) -> base::Status {
        tx.db
            .prepare(
                "INSERT INTO api_keys (id, mac, name, tenant, scopes, created_at) "
                "VALUES ('a', zeroblob(32), ?1, '', '', 0)")
            .bind(big)
            .run();
        return {};
      },
      [&](base::Status s) { large.set_value(std::move(s)); });
  writer().submit(Priority::kUrgent, 0, bump, [&](base::Status s) { finish.set_value(std::move(s)); });
  held.let_go();
  EXPECT_TRUE(finish.get_future().get());
  const auto refused = large.get_future().get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::kOverloaded);
  EXPECT_GT(refused.error().retry_after.count(), 0);
  EXPECT_EQ(bumps(*store_), 1);
}

TEST_F(WriterTest, AClosingWriterRunsWhatIsQueuedAndRefusesTheRest) {
  open();
  std::atomic<int> done{0};
  {
    HeldWriter held(*store_);
    for (int i = 0; i < 50; ++i) {
      writer().submit(Priority::kNormal, 0, bump, [&](base::Status s) { done += s ? 1 : 0; });
    }
  }
  store_->close();
  EXPECT_EQ(done, 50);
  EXPECT_EQ(write(*store_, bump, Priority::kUrgent).error().code, base::Code::kOverloaded);
}

TEST_F(WriterTest, ACallbackThatThrowsDoesNotStopTheOthers) {
  open();
  writer().submit(Priority::kNormal, 0, bump, [](base::Status) { throw std::runtime_error("mine"); });
  EXPECT_TRUE(write(*store_, bump));
}

TEST_F(WriterTest, AReadThatTakesLongerThanASecondIsEnded) {
  open();
  const auto endless = store_->readers().read([](Db& db) {
    db.prepare("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n").run();
  });
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, base::Code::kOverloaded);
  EXPECT_EQ(bumps(*store_), 0) << "the connection is usable again";
}

}  // namespace
}  // namespace millrace::storage

#include <vector>

#include "storage/batches/batches.h"
#include "storage/blobs/blob_rows.h"
#include "storage/db/db.h"
#include "storage/files/files.h"
#include "storage/writer/readers.h"
#include "tests/contract/store_contract.h"

// Batches and the processes that drive them, in every store.
namespace millrace::storage::testing {
namespace {

using schemas::Batch;
using schemas::BatchStatus;
using Line = DrivenBatches::Line;
using LineEnd = DrivenBatches::LineEnd;

class StoredBatches : public Delivery {
 protected:
  base::Uuid add(std::optional<schemas::NanoUsd> cost_max = {}) {
    const base::WallTime now = s_.clock.wall();
    Batch batch;
    batch.id = base::Uuid::make(now);
    batch.endpoint = "/v1/ocr";
    batch.cost_max = cost_max;
    batch.created_at = now;
    batch.expires_at = now + 24h;
    const base::Uuid id = batch.id;
    NewBatch made{
        .about = std::move(batch), .input = stage(s_.store().blobs(), "lines").value(), .open_max = 3};
    const auto added = await<CallReply>([&](auto done) {
      batches_.add(std::move(made), {.tenant = kTenant, .actor = "key", .key = {}}, done);
    });
    last_error_ = added ? Code::kInternal : added.error().code;
    s_.clock.advance(1ms);
    return id;
  }
  Batch batch(const base::Uuid& id) { return batches_.batch(kTenant, id).value(); }

  // A batch in progress with lines 1 to `count`, which `driver` drives.
  base::Uuid begun(DrivenBatches& driver, int count, std::optional<schemas::NanoUsd> cost_max = {}) {
    const base::Uuid id = add(cost_max);
    EXPECT_TRUE(driver.claim(9));
    std::vector<Line> lines;
    for (int i = 1; i <= count; ++i)
      lines.push_back({.number = i, .custom_id = "c" + std::to_string(i), .bytes = 5});
    EXPECT_TRUE(driver.add_lines(id, lines));
    EXPECT_TRUE(driver.begin(id, count));
    return id;
  }
  base::Result<Submitted> submit(const DrivenBatches& driver, const base::Uuid& id, std::int64_t line,
                                 std::optional<schemas::NanoUsd> cost_max = 0) {
    Submission order = s_.order();
    order.cost_max = cost_max;
    order.batch_line = BatchLineRef{.batch = id, .number = line, .driver = driver.driver(), .expires_at = {}};
    return s_.try_submit(order);
  }
  static LineEnd good(std::int64_t line) {
    return {.number = line,
            .has_succeeded = true,
            .output = {.bytes = "out " + std::to_string(line) + "\n", .blob = {}}};
  }
  std::vector<std::int64_t> pending(DrivenBatches& driver, const base::Uuid& id) {
    std::vector<std::int64_t> numbers;
    const auto lines = driver.pending(id, 0, 99).value();
    for (const Line& line : lines) numbers.push_back(line.number);
    return numbers;
  }
  std::int64_t number(Sql sql) {
    return read(s_.store().readers(),
                [&](Db& db) {
                  auto row = db.prepare(sql);
                  return row.step() ? row.integer(0) : -1;
                })
        .value();
  }
  int drop() {
    return await<int>([&](auto done) { batches_.drop_ended(24h, 99, done); }).value();
  }

  JobStore& s_ = fresh();
  Batches batches_{s_.store()};
  DrivenBatches one_{s_.store(), base::Uuid::make(s_.clock.wall())};
  DrivenBatches two_{s_.store(), base::Uuid::make(s_.clock.wall() + 1ms)};
  Code last_error_ = Code::kInternal;
};
INSTANTIATE_TEST_SUITE_P(Stores, StoredBatches, ::testing::ValuesIn(kStores),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(StoredBatches, ATenantHasABoundOfOpenOnes) {
  for (int i = 0; i < 3; ++i) add();
  EXPECT_EQ(last_error_, Code::kInternal);
  add();
  EXPECT_EQ(last_error_, Code::kQuotaExceeded);
}

TEST_P(StoredBatches, OneProcessDrivesABatchUntilItsLeaseEnds) {
  const base::Uuid id = add();
  EXPECT_EQ(one_.claim(9).value(), std::vector{id});
  EXPECT_TRUE(two_.claim(9).value().empty());
  s_.clock.advance(kBatchLease - 1s);
  EXPECT_EQ(one_.claim(9).value(), std::vector{id}) << "which it renews";
  s_.clock.advance(kBatchLease - 1s);
  EXPECT_TRUE(two_.claim(9).value().empty());
  s_.clock.advance(2s);
  EXPECT_EQ(two_.claim(9).value(), std::vector{id});
  EXPECT_EQ(one_.begin(id, 1).error().code, Code::kInvalidState);
  EXPECT_EQ(one_.find(id).error().code, Code::kNotFound);
  EXPECT_TRUE(two_.release());
  EXPECT_EQ(one_.claim(9).value(), std::vector{id});
}

TEST_P(StoredBatches, ALineBecomesOneJobWhoeverSendsIt) {
  const base::Uuid id = begun(one_, 2);
  ASSERT_TRUE(submit(one_, id, 1));
  EXPECT_EQ(submit(one_, id, 1).error().code, Code::kInvalidState);
  EXPECT_EQ(submit(two_, id, 2).error().code, Code::kInvalidState) << "it does not drive the batch";
  EXPECT_EQ(submit(one_, id, 3).error().code, Code::kInvalidState) << "there is no such line";
  EXPECT_EQ(number("SELECT count(*) FROM jobs"), 1);
  EXPECT_EQ(pending(one_, id), std::vector<std::int64_t>{2});
  EXPECT_EQ(one_.submitted_count(id, 9).value(), 1);
}

TEST_P(StoredBatches, AJobThatHasEndedEndsItsLine) {
  const base::Uuid id = begun(one_, 3);
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(submit(one_, id, i));
  EXPECT_TRUE(one_.ended(id, 9).value().empty());
  EXPECT_EQ(one_.open(id, 0, 9).value().size(), 3U);
  ASSERT_EQ(s_.finish(s_.claim_one()), ReportResult::kApplied);
  const auto ended = one_.ended(id, 9).value();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().number, 1);
  EXPECT_EQ(ended.front().custom_id, "c1");
  EXPECT_TRUE(ended.front().has_succeeded);
  EXPECT_FALSE(ended.front().is_lost);
}

TEST_P(StoredBatches, EachLineEndsOnceAndItsOutputKeepsTheOrderOfTheEnds) {
  const base::Uuid id = begun(one_, 3);
  EXPECT_TRUE(one_.end_lines(id, {good(3), good(1)}));
  EXPECT_TRUE(one_.end_lines(id, {good(1), {.number = 2, .output = {.bytes = "bad\n", .blob = {}}}}));
  EXPECT_EQ(two_.end_lines(id, {good(2)}).error().code, Code::kInvalidState);
  const Batch now = batch(id);
  EXPECT_EQ(now.completed, 2);
  EXPECT_EQ(now.failed, 1);
  const auto lines = batches_.outputs(id, false, 0, 9).value();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].payload.bytes, "out 3\n");
  EXPECT_EQ(lines[1].payload.bytes, "out 1\n");
  EXPECT_EQ(batches_.outputs(id, true, 0, 9).value().front().payload.bytes, "bad\n");
  EXPECT_EQ(batches_.outputs(id, false, 1, 9).value().size(), 1U);
}

TEST_P(StoredBatches, ALargeOutputIsABlobUntilTheBatchIsOver) {
  const base::Uuid id = begun(one_, 1);
  LineEnd end = good(1);
  end.output = {.bytes = {}, .blob = stage(s_.store().blobs(), std::string(100'000, 'x')).value()};
  EXPECT_TRUE(one_.end_lines(id, {end}));
  EXPECT_TRUE(batches_.outputs(id, false, 0, 9).value().front().payload.blob);
  EXPECT_EQ(number("SELECT coalesce(sum(refs), 0) FROM blobs"), 2);
}

TEST_P(StoredBatches, WhatALineMayCostIsReservedUntilItEnds) {
  const base::Uuid id = begun(one_, 4, 100);
  ASSERT_TRUE(submit(one_, id, 1, 60));
  EXPECT_EQ(submit(one_, id, 2, 50).error().code, Code::kBudgetExceeded);
  EXPECT_EQ(submit(one_, id, 2, std::nullopt).error().code, Code::kBudgetExceeded)
      << "its model has no price";
  ASSERT_TRUE(submit(one_, id, 2, 40));
  LineEnd cheap = good(1);
  cheap.cost = 10;
  EXPECT_TRUE(one_.end_lines(id, {cheap}));
  EXPECT_EQ(batch(id).cost, 10);
  ASSERT_TRUE(submit(one_, id, 3, 50));
  EXPECT_EQ(submit(one_, id, 4, 1).error().code, Code::kBudgetExceeded);
}

TEST_P(StoredBatches, ItsOutputsBecomeFilesAndItsLinesGo) {
  const base::Uuid id = begun(one_, 2);
  ASSERT_TRUE(submit(one_, id, 1));
  EXPECT_TRUE(one_.end_lines(id, {good(1), good(2)}));
  const auto file = *batch(id).output_file;
  EXPECT_EQ(batches_.open_output(kTenant, file).value()->batch, id);
  EXPECT_FALSE(batches_.open_output("other", file).value());
  EXPECT_TRUE(one_.finalize(id).value());
  EXPECT_TRUE(one_.complete(id, BatchStatus::kCompleted, stage(s_.store().blobs(), "out").value(), nullptr));
  const Batch over = batch(id);
  EXPECT_EQ(over.status, BatchStatus::kCompleted);
  EXPECT_EQ(over.output_file, file);
  EXPECT_FALSE(over.error_file);
  EXPECT_FALSE(batches_.open_output(kTenant, file).value());
  EXPECT_EQ(Files(s_.store()).read_content(kTenant, file).value(), "out");
  EXPECT_TRUE(one_.claim(9).value().empty());
  while (drop() > 0) {
  }
  EXPECT_EQ(number("SELECT count(*) FROM batch_outputs"), 0);
  EXPECT_EQ(number("SELECT coalesce(sum(refs), 0) FROM blobs"), 1) << "of the file";
  EXPECT_EQ(number("SELECT count(*) FROM batch_lines"), 1) << "of the job";
  s_.clock.advance(25h);
  while (drop() > 0) {
  }
  EXPECT_EQ(number("SELECT count(*) FROM batch_lines"), 0);
  EXPECT_EQ(batches_.batch(kTenant, id).error().code, Code::kNotFound);
  EXPECT_EQ(Files(s_.store()).read_content(kTenant, file).value(), "out");
}

TEST_P(StoredBatches, OneIsNotOverWhileALineIsOpen) {
  const base::Uuid id = begun(one_, 2);
  EXPECT_TRUE(one_.end_lines(id, {good(1)}));
  EXPECT_FALSE(one_.finalize(id).value());
  EXPECT_EQ(batch(id).status, BatchStatus::kInProgress);
  EXPECT_TRUE(one_.end_lines(id, {good(2)}));
  EXPECT_TRUE(one_.finalize(id).value());
  EXPECT_EQ(one_.finalize(id).error().code, Code::kInvalidState);
}

TEST_P(StoredBatches, AJobThatWasDeletedIsLost) {
  const base::Uuid id = begun(one_, 1);
  const auto made = submit(one_, id, 1);
  ASSERT_TRUE(made);
  ASSERT_EQ(s_.finish(s_.claim_one()), ReportResult::kApplied);
  const auto removed = await<Removed>([&](auto done) {
    JobIntake(s_.store())
        .remove(
            made->job, {.tenant = kTenant, .actor = {}, .key = {}}, [](const auto&) { return std::string(); },
            done);
  });
  ASSERT_TRUE(removed);
  const auto ended = one_.ended(id, 9).value();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_TRUE(ended.front().is_lost);
}

TEST_P(StoredBatches, AJobThatAKeyHasMadeBeforeIsTheLines) {
  const base::Uuid id = begun(one_, 1);
  Submission order = s_.order();
  order.idempotency = IdempotencyKey{"POST", "/v1/ocr", "key", {}};
  const auto before = s_.try_submit(order).value();
  order.id = s_.new_id();
  order.batch_line = BatchLineRef{.batch = id, .number = 1, .driver = one_.driver(), .expires_at = {}};
  const auto made = s_.try_submit(order).value();
  EXPECT_EQ(made.job, before.job);
  EXPECT_EQ(one_.submitted_count(id, 9).value(), 1);
  EXPECT_EQ(number("SELECT count(*) FROM jobs"), 1);
}

TEST_P(StoredBatches, OnlyOneThatIsNotOverCanBeCancelled) {
  const auto cancel = [&](const base::Uuid& id, const std::string& tenant = kTenant) {
    return await<CallReply>([&](auto done) {
      batches_.cancel(id, {.tenant = tenant, .actor = {}, .key = {}}, &schemas::batch_json, done);
    });
  };
  const base::Uuid id = begun(one_, 1);
  EXPECT_EQ(cancel(id, "other").error().code, Code::kNotFound);
  EXPECT_TRUE(cancel(id));
  EXPECT_TRUE(cancel(id)) << "again";
  EXPECT_EQ(batch(id).status, BatchStatus::kCancelling);
  EXPECT_EQ(submit(one_, id, 1).error().code, Code::kInvalidState);
  const base::Uuid done = begun(one_, 1);
  EXPECT_TRUE(one_.complete(done, BatchStatus::kCompleted, nullptr, nullptr));
  EXPECT_EQ(cancel(done).error().code, Code::kInvalidState);
}

TEST_P(StoredBatches, AValidationThatBeginsAgainFindsNoLinesOfTheFirst) {
  const base::Uuid id = add();
  EXPECT_TRUE(one_.claim(9));
  std::vector<Line> lines;
  for (int i = 1; i <= 2'500; ++i) lines.push_back({.number = i, .custom_id = std::to_string(i), .bytes = 5});
  EXPECT_TRUE(one_.add_lines(id, lines));
  EXPECT_FALSE(one_.drop_lines(id).value()) << "some are left";
  while (!one_.drop_lines(id).value()) {
  }
  EXPECT_TRUE(pending(one_, id).empty());
}

}  // namespace
}  // namespace millrace::storage::testing

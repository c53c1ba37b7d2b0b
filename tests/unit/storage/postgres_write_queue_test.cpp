#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/postgres/write_queue.h"

namespace millrace::storage::testing {
namespace {

std::shared_ptr<PostgresText> text(const char* sql) { return std::make_shared<PostgresText>(sql); }
PostgresValue id(const char* bytes) { return {.type = kBytea, .bytes = bytes}; }
PostgresValue number(char low) { return {.type = kInt8, .bytes = std::string(7, '\0') + low}; }

struct PostgresWriteQueue : ::testing::Test {
  const std::shared_ptr<PostgresText> claim = text("UPDATE jobs SET status = 1, a = $2 WHERE id = $1");
  const std::shared_ptr<PostgresText> end = text("UPDATE jobs SET status = 3 WHERE id = $1 AND status = 1");
  const std::shared_ptr<PostgresText> event = text("INSERT INTO job_events (job, version) VALUES ($1, $2)");
  const std::shared_ptr<PostgresText> all = text("UPDATE jobs SET a = 0 WHERE status = 1");
  WriteQueue queue;

  // The rows of each statement, in order.
  std::vector<std::size_t> rows() {
    std::vector<std::size_t> out;
    for (const WriteQueue::Batch& each : queue.take_all()) out.push_back(each.rows);
    return out;
  }
};

TEST_F(PostgresWriteQueue, WritesOfOtherRowsJoin) {
  queue.add(claim, {id("a"), number(1)});
  queue.add(event, {id("a"), number(2)});
  queue.add(end, {id("x")});
  queue.add(event, {id("x"), number(3)});
  queue.add(claim, {id("b"), number(1)});
  queue.add(event, {id("b"), number(2)});
  EXPECT_EQ(rows(), (std::vector<std::size_t>{2, 3, 1}));
}

TEST_F(PostgresWriteQueue, WritesOfTheSameRowStayInOrder) {
  queue.add(claim, {id("a"), number(1)});
  queue.add(end, {id("a")});
  queue.add(claim, {id("a"), number(2)});
  queue.add(claim, {id("b"), number(2)});
  EXPECT_EQ(rows(), (std::vector<std::size_t>{1, 1, 2}));
}

TEST_F(PostgresWriteQueue, NothingPassesAWriteOfAnyRows) {
  queue.add(claim, {id("a"), number(1)});
  queue.add(all, {});
  queue.add(claim, {id("b"), number(1)});
  EXPECT_EQ(rows(), (std::vector<std::size_t>{1, 1, 1}));
}

TEST_F(PostgresWriteQueue, ValuesOfOtherTypesDoNotJoinAndNullDoes) {
  queue.add(claim, {id("a"), number(1)});
  queue.add(claim, {id("b"), {}});
  queue.add(claim, {id("c"), {.type = kText, .bytes = "x"}});
  EXPECT_EQ(rows(), (std::vector<std::size_t>{2, 1}));
}

TEST_F(PostgresWriteQueue, AReadSeesWhetherItsRowsChange) {
  queue.add(claim, {id("a"), number(1)});
  const StatementForm job = form_of("SELECT a FROM jobs WHERE id = $1");
  EXPECT_TRUE(queue.changes_rows_of(job, "a"));
  EXPECT_FALSE(queue.changes_rows_of(job, "b"));
  EXPECT_TRUE(queue.changes_rows_of(form_of("SELECT a FROM jobs WHERE status = 1"), ""));
  EXPECT_FALSE(queue.changes_rows_of(form_of("SELECT job FROM job_events WHERE job = $1"), "a"));
}

TEST_F(PostgresWriteQueue, TheLastWriteCanBeTakenBack) {
  queue.add(claim, {id("a"), number(1)});
  queue.add(claim, {id("b"), {}});
  const auto values = queue.take_last();
  EXPECT_EQ(values[0].bytes, "b");
  EXPECT_EQ(values[1].type, 0U);
  EXPECT_EQ(rows(), (std::vector<std::size_t>{1}));
}

}  // namespace
}  // namespace millrace::storage::testing

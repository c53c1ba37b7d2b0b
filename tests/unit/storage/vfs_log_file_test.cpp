#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "storage/data_dir.h"
#include "storage/sqlite/database.h"
#include "tests/support/temp_dir.h"

namespace millrace::storage {
namespace {

constexpr std::int64_t kLogHead = 32, kFrameBytes = kPageBytes + 24;

std::int64_t number(Db& db, Sql sql) {
  auto s = db.prepare(sql);
  s.step();
  return s.integer(0);
}

// A small cache, so that a large transaction does not fit into it.
class LogWritesTest : public ::testing::Test {
 protected:
  LogWritesTest() { db_.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, bytes BLOB)"); }

  // Checkpoints the whole log, so the next transaction starts at its beginning and no reader uses it.
  void empty_log() { db_.execute("PRAGMA wal_checkpoint(TRUNCATE)"); }
  // Not the setting of Db: a large transaction reaches the log before its end.
  void spill() { db_.execute("PRAGMA cache_spill = ON"); }
  void insert(int rows) { insert(db_, rows); }
  static void insert(Db& db, int rows) {
    const std::string bytes(3000, 'x');
    for (int i = 0; i < rows; ++i) {
      db.prepare("INSERT INTO t (bytes) VALUES (?1)").bind(BlobView{bytes}).run();
    }
  }
  void expect_rows(std::int64_t rows) {
    SqliteDb third({.path = path_, .mode = SqliteDb::Mode::kReader});
    EXPECT_EQ(number(third, "SELECT count(*) FROM t"), rows);
    EXPECT_EQ(sound(third), "ok");
  }
  std::int64_t log_bytes() const { return file_bytes(path_ + "-wal"); }
  std::int64_t allocated() const {
    struct stat about {};
    ::stat((path_ + "-wal").c_str(), &about);
    return std::int64_t{about.st_blocks} * 512;
  }
  static std::string sound(Db& db) {
    auto s = db.prepare("PRAGMA integrity_check");
    s.step();
    return s.text(0);
  }

  support::TempDir dir_;
  std::string path_ = dir_.str() + "/x.db";
  SqliteDb db_{{.path = path_, .cache_kib = 64}};
  SqliteDb other_{{.path = path_, .mode = SqliteDb::Mode::kReader}};
};

TEST_F(LogWritesTest, ACommitIsInTheFileWhenItReturns) {
  const std::int64_t before = log_bytes();
  db_.prepare("INSERT INTO t (bytes) VALUES (x'01')").run();
  EXPECT_EQ(log_bytes(), before + kFrameBytes);
  EXPECT_EQ((log_bytes() - kLogHead) % kFrameBytes, 0);
  EXPECT_EQ(number(other_, "SELECT count(*) FROM t"), 1);
}

// So a full disk is noticed by a write, which can be repeated, and not by a sync, which ends the process.
TEST_F(LogWritesTest, TheBlocksOfTheLogAreAllocatedBeforeTheyAreWritten) {
  insert(1);
  EXPECT_GE(allocated(), 1 << 20);
  EXPECT_LT(log_bytes(), 1 << 19) << "its size is not changed";
  insert(400);
  EXPECT_GE(allocated(), log_bytes());
  empty_log();
  insert(3);
  EXPECT_GE(allocated(), 1 << 20);
  expect_rows(404);
}

TEST_F(LogWritesTest, TheBlocksAreAllocatedAgainAfterAnotherConnectionTruncatedTheLog) {
  insert(400);
  SqliteDb checkpointer({.path = path_});
  checkpointer.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  EXPECT_EQ(log_bytes(), 0);
  insert(3);
  EXPECT_GE(allocated(), 1 << 20);
  expect_rows(403);
}

TEST_F(LogWritesTest, NothingReachesTheLogBeforeTheCommit) {
  const std::int64_t before = log_bytes();
  db_.execute("BEGIN IMMEDIATE");
  insert(1000);
  EXPECT_EQ(log_bytes(), before);
  db_.execute("COMMIT");
  EXPECT_GT(log_bytes(), before + 100 * kFrameBytes);
  EXPECT_EQ(number(other_, "SELECT count(*) FROM t"), 1000);
}

TEST_F(LogWritesTest, ATransactionLargerThanTheCacheReadsWhatItHasWritten) {
  spill();
  db_.execute("BEGIN IMMEDIATE");
  insert(1000);
  EXPECT_GT(log_bytes(), 100 * kFrameBytes)
      << "the transaction did not reach the log, so the test checks nothing";
  EXPECT_EQ(number(db_, "SELECT count(*) FROM t WHERE length(bytes) = 3000"), 1000);
  db_.execute("UPDATE t SET bytes = x'02' WHERE id % 7 = 0");
  EXPECT_EQ(number(other_, "SELECT count(*) FROM t"), 0);
  db_.execute("COMMIT");
  EXPECT_EQ(number(other_, "SELECT count(*) FROM t WHERE length(bytes) = 3000"), 858);
  EXPECT_EQ(sound(other_), "ok");
}

TEST_F(LogWritesTest, WhatWasRolledBackIsWrittenOver) {
  spill();
  db_.execute("BEGIN IMMEDIATE");
  insert(300);
  db_.execute("ROLLBACK");
  insert(1);
  EXPECT_EQ(number(other_, "SELECT count(*) FROM t"), 1);
  EXPECT_EQ(sound(other_), "ok");
  SqliteDb third({.path = path_, .mode = SqliteDb::Mode::kReader});
  EXPECT_EQ(number(third, "SELECT count(*) FROM t"), 1);
}

TEST_F(LogWritesTest, WhatWasRolledBackIsNeverWrittenOverAnothersCommits) {
  insert(2);
  empty_log();
  spill();
  db_.execute("BEGIN IMMEDIATE");
  insert(300);
  db_.execute("ROLLBACK");
  SqliteDb second({.path = path_});
  insert(second, 300);
  EXPECT_EQ(number(db_, "SELECT count(*) FROM t"), 302);
  expect_rows(302);
  insert(1);
  expect_rows(303);
}

TEST_F(LogWritesTest, WhatSQLiteRolledBackByItselfIsForgottenToo) {
  insert(2);
  empty_log();
  spill();
  db_.execute("BEGIN IMMEDIATE");
  insert(300);
  EXPECT_THROW(db_.execute("INSERT OR ROLLBACK INTO t (id) VALUES (1)"), DbError);
  SqliteDb second({.path = path_});
  insert(second, 300);
  EXPECT_EQ(number(db_, "SELECT count(*) FROM t"), 302);
  expect_rows(302);
}

TEST_F(LogWritesTest, AConnectionThatClosesWritesNothing) {
  insert(2);
  empty_log();
  {
    SqliteDb second({.path = path_, .cache_kib = 64});
    second.execute("PRAGMA cache_spill = ON");
    second.execute("BEGIN IMMEDIATE");
    insert(second, 300);
    const std::int64_t before = log_bytes();
    second.execute("ROLLBACK");
    EXPECT_EQ(log_bytes(), before);
    insert(300);
  }  // the second connection closes
  EXPECT_EQ(number(db_, "SELECT count(*) FROM t"), 302);
  expect_rows(302);
}

TEST_F(LogWritesTest, ACommitThatFailedIsNeverWrittenOverAnothersCommits) {
  insert(2);
  rlimit own{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &own), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  db_.execute("BEGIN IMMEDIATE");
  insert(300);
  const rlimit small{static_cast<rlim_t>(log_bytes() + 20 * kFrameBytes), own.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(db_.execute("COMMIT"), DbError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &own), 0);
  std::signal(SIGXFSZ, handler);
  SqliteDb second({.path = path_});
  insert(second, 300);
  EXPECT_EQ(number(db_, "SELECT count(*) FROM t"), 302);
  expect_rows(302);
}

TEST_F(LogWritesTest, APartOfATransactionIsTakenBack) {
  spill();
  db_.execute("BEGIN IMMEDIATE");
  insert(200);
  db_.execute("SAVEPOINT half");
  insert(200);
  db_.execute("ROLLBACK TO half");
  insert(3);
  db_.execute("COMMIT");
  EXPECT_EQ(number(other_, "SELECT count(*) FROM t"), 203);
  EXPECT_EQ(sound(other_), "ok");
}

TEST_F(LogWritesTest, ACheckpointByAnotherConnectionSeesAllOfTheLog) {
  insert(100);
  SqliteDb checkpointer({.path = path_});
  EXPECT_EQ(number(checkpointer, "SELECT count(*) FROM t"), 100);
  auto s = checkpointer.prepare("PRAGMA wal_checkpoint(TRUNCATE)");
  s.step();
  EXPECT_EQ(s.integer(0), 0);
  EXPECT_EQ(log_bytes(), 0);
  insert(5);
  EXPECT_EQ(number(other_, "SELECT count(*) FROM t"), 105);
  EXPECT_EQ(sound(other_), "ok");
}

}  // namespace
}  // namespace millrace::storage

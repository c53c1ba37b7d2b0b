#include <gtest/gtest.h>
#include <sys/stat.h>

#include "storage/sqlite/database.h"
#include "storage/writer/readers.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage {
namespace {

void expect_pragmas(Db& db) {
  const auto number = [&](Sql sql) {
    auto s = db.prepare(sql);
    s.step();
    return s.integer(0);
  };
  EXPECT_EQ(number("PRAGMA synchronous"), 2) << "every commit must sync";
  EXPECT_EQ(number("PRAGMA wal_autocheckpoint"), 0);
  EXPECT_EQ(number("PRAGMA page_size"), 8192);
  EXPECT_EQ(number("PRAGMA foreign_keys"), 0);
  EXPECT_EQ(number("PRAGMA temp_store"), 2);
  EXPECT_EQ(number("PRAGMA mmap_size"), 0);
  EXPECT_EQ(number("PRAGMA secure_delete"), 1) << "deleted secrets must be overwritten";
  EXPECT_GT(number("PRAGMA busy_timeout"), 0) << "it must be set in addition to the fair write lock";
  auto s = db.prepare("PRAGMA journal_mode");
  s.step();
  EXPECT_EQ(s.text(0), "wal");
}

unsigned mode_of(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? file.st_mode & 07777 : 0;
}

class SqliteTest : public ::testing::Test {
 protected:
  support::TempDir dir_;
  SqliteDb db_{{.path = dir_.str() + "/x.db"}};
};

TEST_F(SqliteTest, EveryConnectionIsWalAndFull) {
  expect_pragmas(db_);
  SqliteDb reader({.path = dir_.str() + "/x.db", .mode = SqliteDb::Mode::kReader});
  expect_pragmas(reader);
}

TEST_F(SqliteTest, TheStoresWriterAndReadersAreWalAndFull) {
  base::SystemClock clock;
  auto store = opened(test_options(dir_.str() + "/data"), clock);
  ASSERT_TRUE(write(*store, [](Tx& tx) -> base::Status {
    expect_pragmas(tx.db);
    return {};
  }));
  ASSERT_TRUE(store->readers().read([](Db& db) { expect_pragmas(db); }));
}

TEST_F(SqliteTest, TheDatabaseAndItsLogArePrivate) {
  db_.execute("CREATE TABLE t (x)");
  for (const char* file : {"/x.db", "/x.db-wal", "/x.db-shm"})
    EXPECT_EQ(mode_of(dir_.str() + file), 0600u) << file;
}

TEST_F(SqliteTest, AReaderCannotWrite) {
  db_.execute("CREATE TABLE t (x)");
  SqliteDb reader({.path = dir_.str() + "/x.db", .mode = SqliteDb::Mode::kReader});
  EXPECT_THROW(reader.execute("INSERT INTO t VALUES (1)"), DbError);
}

TEST_F(SqliteTest, AStatementThatGoesOutOfScopeLeavesNoReadTransactionOpen) {
  db_.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)");
  {
    auto s = db_.prepare("SELECT x FROM t");
    ASSERT_TRUE(s.step());
  }
  SqliteDb other({.path = dir_.str() + "/x.db", .busy_timeout_ms = 1});
  other.execute("INSERT INTO t VALUES (3)");
  auto s = db_.prepare("SELECT count(*) FROM t");
  ASSERT_TRUE(s.step());
  EXPECT_EQ(s.integer(0), 3);
}

}  // namespace
}  // namespace millrace::storage

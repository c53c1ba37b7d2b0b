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

TEST_F(SqliteTest, AStatementIsUsableInsideItself) {
  db_.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)");
  const Sql sql = "SELECT x FROM t ORDER BY x";
  auto outer = db_.prepare(sql);
  int pairs = 0;
  while (outer.step()) {
    auto inner = db_.prepare(sql);
    while (inner.step()) ++pairs;
  }
  EXPECT_EQ(pairs, 4);
}

TEST_F(SqliteTest, ValuesComeBackAsTheyWereBound) {
  db_.execute("CREATE TABLE t (a, b, c, d, e)");
  const base::Uuid id = base::Uuid::make(base::wall_from(1'000));
  db_.prepare("INSERT INTO t VALUES (?1, ?2, ?3, ?4, ?5)")
      .bind(std::int64_t{-7}, std::string_view("té\0xt", 6), BlobView{std::string_view("\0\1", 2)}, id,
            std::optional<std::string_view>())
      .run();
  auto s = db_.prepare("SELECT a, b, c, d, e FROM t");
  ASSERT_TRUE(s.step());
  EXPECT_EQ(s.integer(0), -7);
  EXPECT_EQ(s.text(1), std::string("té\0xt", 6));
  EXPECT_EQ(s.blob(2), std::string("\0\1", 2));
  EXPECT_EQ(s.uuid(3), id);
  EXPECT_TRUE(s.is_null(4));
  EXPECT_EQ(s.optional_text(4), std::nullopt);
  EXPECT_THROW(s.uuid(2), DbError);
}

TEST_F(SqliteTest, ChangesAreThoseOfTheStatementItself) {
  db_.execute("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)");
  auto update = db_.prepare("UPDATE t SET x = x + 1");
  update.run();
  db_.prepare("INSERT INTO t VALUES (9)").run();
  EXPECT_EQ(update.changes(), 2);
}

}  // namespace
}  // namespace millrace::storage

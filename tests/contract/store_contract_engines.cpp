#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "storage/db/db.h"
#include "storage/postgres/database.h"
#include "storage/sqlite/database.h"
#include "tests/contract/postgres_server.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

// Contract of every engine behind storage/db.
namespace millrace::storage::testing {
namespace {

using namespace std::chrono_literals;

// Tables of a test: `integer`, `text` and `bytes` in the engine's words.
struct EngineKind {
  const char* name;
  std::function<std::unique_ptr<Db>(const std::string& folder)> open;
  const char* schema;
};

const EngineKind kEngines[] = {
    {"sqlite",
     [](const std::string& folder) -> std::unique_ptr<Db> {
       return std::make_unique<SqliteDb>(SqliteDb::Options{.path = folder + "/x.db"});
     },
     "CREATE TABLE t (id BLOB, n INTEGER, r REAL, s TEXT, b BLOB) STRICT"},
    {"postgresql",
     [](const std::string& folder) -> std::unique_ptr<Db> {
       return std::make_unique<PostgresDb>(schema_url(folder));
     },
     "CREATE TABLE t (id bytea, n bigint, r double precision, s text, b bytea);"
     "CREATE TABLE writers (writer bytea, group_seq bigint, at timestamptz NOT NULL, PRIMARY KEY (writer, "
     "group_seq))"},
};

class Engine : public ::testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override { db().script(GetParam().schema); }
  Db& db() { return *db_; }
  std::unique_ptr<Db> another() { return GetParam().open(dir_.str()); }
  std::int64_t count() {
    auto s = db().prepare("SELECT count(*) FROM t");
    s.step();
    return s.integer(0);
  }

 private:
  support::TempDir dir_;
  std::unique_ptr<Db> db_ = GetParam().open(dir_.str());
};

INSTANTIATE_TEST_SUITE_P(Engines, Engine, ::testing::ValuesIn(kEngines),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(Engine, ValuesComeBackAsTheyWereBound) {
  const base::Uuid id = base::Uuid::make(base::wall_from(1'000));
  db().prepare("INSERT INTO t (id, n, r, s, b) VALUES (?1, ?2, ?3, ?4, ?5)")
      .bind(id, std::int64_t{-7'000'000'000}, -0.125, "té ' ? $1", BlobView{std::string_view("\0\1\xff", 3)})
      .run();
  auto s = db().prepare("SELECT id, n, r, s, b FROM t");
  ASSERT_TRUE(s.step());
  EXPECT_EQ(s.uuid(0), id);
  EXPECT_EQ(s.integer(1), -7'000'000'000);
  EXPECT_EQ(s.real(2), -0.125);
  EXPECT_EQ(s.text(3), "té ' ? $1");
  EXPECT_EQ(s.blob(4), std::string("\0\1\xff", 3));
  EXPECT_THROW(s.uuid(4), DbError);
  EXPECT_FALSE(s.step());
}

TEST_P(Engine, NothingAndEmptyAreDifferent) {
  db().prepare("INSERT INTO t (n, s, b) VALUES (?1, ?2, ?3)")
      .bind(std::optional<std::int64_t>(), "", BlobView{})
      .run();
  auto s = db().prepare("SELECT n, s, b, r FROM t");
  ASSERT_TRUE(s.step());
  EXPECT_TRUE(s.is_null(0));
  EXPECT_EQ(s.integer(0), 0);
  EXPECT_EQ(s.optional_integer(0), std::nullopt);
  EXPECT_EQ(s.optional_text(1), "");
  EXPECT_FALSE(s.is_null(2));
  EXPECT_EQ(s.blob(2), "");
  EXPECT_EQ(s.optional_text(3), std::nullopt);
}

TEST_P(Engine, AStatementTakesNothingAndValuesInTurn) {
  for (const std::optional<std::int64_t> n : {std::optional<std::int64_t>(), {5}, {}, {6}})
    db().prepare("INSERT INTO t (n) VALUES (?1)").bind(n).run();
  auto s = db().prepare("SELECT count(n), sum(n), max(n), count(*), sum(n) = 11 FROM t");
  ASSERT_TRUE(s.step());
  EXPECT_EQ(s.integer(0), 2);
  EXPECT_EQ(s.integer(1), 11);
  EXPECT_EQ(s.integer(2), 6);
  EXPECT_EQ(s.integer(3), 4);
  EXPECT_EQ(s.integer(4), 1) << "a condition is 0 or 1";
}

TEST_P(Engine, WhatIsNotBoundIsNothing) {
  db().prepare("INSERT INTO t (n, s, r, b) VALUES (?1, ?2, ?3, ?4)").bind(1).run();
  auto s = db().prepare("SELECT n, s, r, b FROM t");
  ASSERT_TRUE(s.step());
  EXPECT_EQ(s.integer(0), 1);
  for (const int column : {1, 2, 3}) EXPECT_TRUE(s.is_null(column));
}

TEST(PostgresSession, CommitsReachTheDiskWhateverTheServerSays) {
  support::TempDir dir;
  for (const auto& [given, expected] :
       {std::pair{"local", "on"}, {"remote_write", "on"}, {"remote_apply", "remote_apply"}}) {
    PostgresDb db(schema_url(dir.str()) + "%20-csynchronous_commit%3D" + given);
    auto s = db.prepare("SELECT current_setting('synchronous_commit'), current_setting('statement_timeout')");
    ASSERT_TRUE(s.step());
    EXPECT_EQ(s.text(0), expected);
    EXPECT_EQ(s.text(1), "0");
  }
}

TEST_P(Engine, SumsOfLargeNumbersAreExact) {
  for (const std::int64_t n : {std::int64_t{4'000'000'000'000'000'003}, std::int64_t{-1},
                               std::int64_t{100'000'000}, std::int64_t{20'000}})
    db().prepare("INSERT INTO t (n) VALUES (?1)").bind(n).run();
  auto s = db().prepare("SELECT sum(n), -sum(n), sum(n) - sum(n) FROM t");
  ASSERT_TRUE(s.step());
  EXPECT_EQ(s.integer(0), 4'000'000'000'100'020'002);
  EXPECT_EQ(s.integer(1), -4'000'000'000'100'020'002);
  EXPECT_EQ(s.integer(2), 0);
}

TEST_P(Engine, TextComparesByBytes) {
  for (const char* text : {"b", "B", "ä", "a"})
    db().prepare("INSERT INTO t (s) VALUES (?1)").bind(text).run();
  std::string order;
  auto s = db().prepare("SELECT s FROM t ORDER BY s");
  while (s.step()) order += s.text(0);
  EXPECT_EQ(order, "Babä");
}

TEST_P(Engine, AStatementIsUsableInsideItself) {
  for (const int n : {1, 2}) db().prepare("INSERT INTO t (n) VALUES (?1)").bind(n).run();
  const Sql sql = "SELECT n FROM t ORDER BY n";
  auto outer = db().prepare(sql);
  int pairs = 0;
  while (outer.step()) {
    auto inner = db().prepare(sql);
    while (inner.step()) ++pairs;
  }
  EXPECT_EQ(pairs, 4);
}

TEST_P(Engine, ChangesAreThoseOfTheStatementItself) {
  for (const int n : {1, 2}) db().prepare("INSERT INTO t (n) VALUES (?1)").bind(n).run();
  const std::int64_t before = db().changes();
  auto update = db().prepare("UPDATE t SET n = n + 1");
  update.run();
  db().prepare("INSERT INTO t (n) VALUES (9)").run();
  EXPECT_EQ(update.changes(), 2);
  EXPECT_EQ(db().changes() - before, 3);
}

TEST_P(Engine, ARolledBackTransactionLeavesNothing) {
  db().begin_write();
  db().prepare("INSERT INTO t (n) VALUES (1)").run();
  db().roll_back();
  EXPECT_EQ(count(), 0);
  db().begin_write();
  db().prepare("INSERT INTO t (n) VALUES (2)").run();
  db().commit();
  EXPECT_EQ(count(), 1);
}

TEST_P(Engine, AfterAnErrorTheTransactionCanBeRolledBackAndTheNextOneWorks) {
  db().begin_write();
  db().prepare("INSERT INTO t (n) VALUES (1)").run();
  EXPECT_THROW(db().prepare("INSERT INTO absent (n) VALUES (1)").run(), DbError);
  db().roll_back();
  db().begin_write();
  db().prepare("INSERT INTO t (n) VALUES (2)").run();
  db().commit();
  EXPECT_EQ(count(), 1);
}

TEST_P(Engine, AReadingTransactionSeesOneState) {
  const auto reader = another();
  reader->begin_read(std::chrono::steady_clock::now() + 10s);
  const auto rows = [&] {
    auto s = reader->prepare("SELECT count(*) FROM t");
    s.step();
    return s.integer(0);
  };
  EXPECT_EQ(rows(), 0);
  db().begin_write();
  db().prepare("INSERT INTO t (n) VALUES (1)").run();
  db().commit();
  EXPECT_EQ(rows(), 0);
  reader->end_read();
  reader->begin_read(std::chrono::steady_clock::now() + 10s);
  EXPECT_EQ(rows(), 1);
  reader->end_read();
}

TEST_P(Engine, AReadIsInterruptedAtItsEnd) {
  const auto reader = another();
  reader->begin_read(std::chrono::steady_clock::now() + 50ms);
  auto s = reader->prepare(R"(
      WITH RECURSIVE long (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM long WHERE n < 1000000000)
      SELECT count(*) FROM long)");
  try {
    s.step();
    ADD_FAILURE() << "it counted to the end";
  } catch (const DbError& e) {
    EXPECT_EQ(e.cause, DbError::Cause::kInterrupted) << e.message;
  }
  reader->end_read();
}

TEST(PostgresText, WhatPostgresqlCannotStoreBecomesAReplacementCharacter) {
  const support::TempDir dir;
  PostgresDb db(schema_url(dir.str()));
  auto s = db.prepare("SELECT ?1::text, ?2::text");
  s.bind(std::string_view("a\0b", 3), "c\xff").step();
  EXPECT_EQ(s.text(0), "a\uFFFDb");
  EXPECT_EQ(s.text(1), "c\uFFFD");
}

// PostgreSQL alone: its connections can be lost.
class PostgresConnection : public ::testing::Test {
 protected:
  // Ends the session of `db`, as a server does that is shut down.
  void cut(PostgresDb& db) {
    auto s = db.prepare("SELECT pg_backend_pid()");
    s.step();
    admin_.script("SELECT pg_terminate_backend(" + std::to_string(s.integer(0)) + ", 10000)");
  }
  std::int64_t rows() {
    auto s = admin_.prepare("SELECT count(*) FROM t");
    s.step();
    return s.integer(0);
  }

  support::TempDir dir_;
  PostgresDb admin_{schema_url(dir_.str())};
  PostgresDb db_{schema_url(dir_.str())};
  void SetUp() override { admin_.script(kEngines[1].schema); }
};

TEST_F(PostgresConnection, ALostIdleConnectionIsMadeAgainWithItsStatements) {
  const auto insert = [&] {
    db_.begin_write();
    db_.prepare("INSERT INTO t (n) VALUES (1)").run();
    db_.commit();
  };
  insert();
  cut(db_);
  insert();
  cut(db_);
  db_.begin_read(std::chrono::steady_clock::now() + 10s);
  db_.end_read();
  EXPECT_EQ(rows(), 2);
}

TEST_F(PostgresConnection, AConnectionThatIsLostInATransactionUndoesIt) {
  db_.begin_write();
  db_.prepare("INSERT INTO t (n) VALUES (1)").run();
  cut(db_);
  EXPECT_THROW(db_.commit(), DbError);
  db_.roll_back();
  EXPECT_EQ(rows(), 0);
}

TEST_F(PostgresConnection, WritersOfOneSchemaTakeTurns) {
  db_.begin_write();
  admin_.script("SET lock_timeout = '50ms'");
  try {
    admin_.begin_write();
    ADD_FAILURE() << "two writers at once";
  } catch (const DbError& e) {
    EXPECT_TRUE(e.is_busy()) << e.message;
  }
  db_.roll_back();
  admin_.begin_write();  // the failed one has left nothing open
  admin_.roll_back();
}

TEST_F(PostgresConnection, AReadThatIsOverRunsNoMoreStatements) {
  db_.begin_read(std::chrono::steady_clock::now());
  try {
    db_.prepare("SELECT n FROM t").step();
    ADD_FAILURE() << "a statement ran after the end";
  } catch (const DbError& e) {
    EXPECT_EQ(e.cause, DbError::Cause::kInterrupted) << e.message;
  }
  db_.end_read();
}

TEST_F(PostgresConnection, AWaitForTheServerCanBeEnded) {
  admin_.begin_write();
  std::thread stopper([this] {
    auto waits = [this] {
      PostgresDb look{schema_url(dir_.str())};
      auto s = look.prepare("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted");
      return s.step() && s.integer(0) > 0;
    };
    EXPECT_TRUE(support::wait_until(waits));
    db_.stop_waiting();
  });
  EXPECT_THROW(db_.begin_write(), DbError);
  stopper.join();
  admin_.roll_back();
}

}  // namespace
}  // namespace millrace::storage::testing

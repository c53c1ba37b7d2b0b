#include <csignal>
#include <filesystem>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "storage/backup/database_copy.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/migrations.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"
#include "tests/unit/storage/opened_store.h"
#include "tests/unit/storage/other_process.h"

namespace millrace::storage {
namespace {

using std::chrono::milliseconds;

constexpr Migration kSteps[] = {{1, "0001_a", "CREATE TABLE a (x)"}, {2, "0002_b", "CREATE TABLE b (x)"}};
constexpr Migration kBroken[] = {kSteps[0], {2, "0002_b", "CREATE TABLE b (x); CREATE TABLE a (x)"}};

// Its last statement does not finish in the lifetime of the process.
constexpr Migration kEndless[] = {
    kSteps[0],
    {2, "0002_b",
     "CREATE TABLE b (x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
     "INSERT INTO b SELECT max(i) FROM n"}};

std::int64_t number(const std::string& database, Sql sql) {
  SqliteDb db({.path = database});
  auto s = db.prepare(sql);
  s.step();
  return s.integer(0);
}

class SchemaTest : public ::testing::Test {
 protected:
  SchemaLock lock() const {
    auto file = LockFile::open(dir_.str() + "/schema.lock");
    EXPECT_TRUE(file);
    return SchemaLock(std::move(*file));
  }
  base::Status run(std::span<const Migration> steps, MigrationBounds bounds = {milliseconds(300)}) {
    auto mine = lock();
    return migrate(database_, mine, steps, bounds);
  }
  void keep_one_row_of_schema_1() {
    ASSERT_TRUE(run(std::span(kSteps).first(1)));
    SqliteDb({.path = database_}).execute("INSERT INTO a VALUES (7)");
  }

  support::TempDir dir_;
  std::string database_ = dir_.str() + "/x.db";
};

TEST_F(SchemaTest, StepsAreTakenInOrderAndOnce) {
  ASSERT_TRUE(run(std::span(kSteps).first(1)));
  EXPECT_EQ(number(database_, "PRAGMA user_version"), 1);
  ASSERT_TRUE(run(kSteps));
  ASSERT_TRUE(run(kSteps));
  EXPECT_EQ(number(database_, "PRAGMA user_version"), 2);
  EXPECT_EQ(number(database_, "SELECT count(*) FROM sqlite_schema"), 2);
}

TEST_F(SchemaTest, IdempotencyKeysOfSchema26AreKept) {
  constexpr std::size_t kBefore = 26;
  ASSERT_TRUE(run(migrations().first(kBefore)));
  SqliteDb({.path = database_}).execute(R"(
      INSERT INTO idempotency VALUES (x'01', x'02', x'03', 4, NULL, 5), (x'11', x'12', x'13', 14, NULL, NULL))");
  ASSERT_TRUE(run(migrations()));
  EXPECT_EQ(number(database_, R"(
      SELECT count(*) FROM idempotency
      WHERE (key, fingerprint, job, kind, expires_at) IS (x'01', x'02', x'03', 4, 5)
          OR (key, fingerprint, job, kind, expires_at) IS (x'11', x'12', x'13', 14, NULL))"),
            2);
  EXPECT_EQ(number(database_,
                   "SELECT count(*) FROM idempotency INDEXED BY idempotency_expiring "
                   "WHERE expires_at IS NOT NULL"),
            1);
}

TEST_F(SchemaTest, ANewerSchemaIsRefused) {
  ASSERT_TRUE(run(kSteps));
  const auto refused = run(std::span(kSteps).first(1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("has schema 2, but this version of millrace knows only schema 1"),
            std::string::npos)
      << refused.error().message;
}

TEST_F(SchemaTest, WhatRefusesANewerSchemaNamesTheBackupThatItCanRead) {
  keep_one_row_of_schema_1();
  ASSERT_TRUE(run(kSteps));
  const auto refused = run(std::span(kSteps).first(1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(schema_backup(database_, 1)), std::string::npos)
      << refused.error().message;
}

TEST_F(SchemaTest, ABackupIsWrittenBeforeTheFirstStep) {
  keep_one_row_of_schema_1();
  ASSERT_FALSE(std::filesystem::exists(schema_backup(database_, 1)));
  ASSERT_TRUE(run(kSteps));
  EXPECT_EQ(number(schema_backup(database_, 1), "PRAGMA user_version"), 1);
  EXPECT_EQ(number(schema_backup(database_, 1), "SELECT x FROM a"), 7);
  const auto mode = std::filesystem::status(schema_backup(database_, 1)).permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(SchemaTest, AnEmptyFileHasNothingToKeep) {
  ASSERT_TRUE(run(kSteps));
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "backups"));
}

TEST_F(SchemaTest, TheNewestBackupOfASchemaReplacesAnOlderOneAndWhatAKilledOneLeft) {
  keep_one_row_of_schema_1();
  dir_.write("backups/millrace-v1.db", "of another year");
  dir_.write("backups/millrace-v1.db.new", "half of");
  ASSERT_TRUE(run(kSteps));
  EXPECT_EQ(number(schema_backup(database_, 1), "SELECT x FROM a"), 7);
  EXPECT_FALSE(std::filesystem::exists(schema_backup(database_, 1) + ".new"));
}

TEST_F(SchemaTest, WithoutSpaceForTheBackupTheSchemaIsNotChanged) {
  keep_one_row_of_schema_1();
  const auto refused = run(kSteps, {milliseconds(300), std::numeric_limits<std::int64_t>::max() / 2});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("store.disk_free_min"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(number(database_, "PRAGMA user_version"), 1);
}

TEST_F(SchemaTest, AWaitingProcessContinuesAMigrationWhoseProcessWasKilled) {
  keep_one_row_of_schema_1();
  OtherProcess other([&](auto&) { return run(kEndless) ? 0 : 2; });
  ASSERT_TRUE(support::wait_until([&] { return std::filesystem::exists(schema_backup(database_, 1)); }));
  base::Status followed = base::error(base::Code::kInternal, "did not end");
  std::jthread waiting([&] { followed = run(kSteps, {milliseconds(60'000)}); });
  other.signal(SIGKILL);
  other.wait();
  waiting.join();
  ASSERT_TRUE(followed) << followed.error().message;
  EXPECT_EQ(number(database_, "PRAGMA user_version"), 2);
  EXPECT_EQ(number(database_, "SELECT x FROM a"), 7);
  EXPECT_EQ(number(database_, "SELECT count(*) FROM b"), 0);
}

TEST_F(SchemaTest, AStepThatFailsLeavesTheSchemaBeforeIt) {
  EXPECT_FALSE(run(kBroken));
  EXPECT_EQ(number(database_, "PRAGMA user_version"), 1);
  EXPECT_EQ(number(database_, "SELECT count(*) FROM sqlite_schema"), 1);
}

TEST_F(SchemaTest, AProcessThatKeepsAnOlderSchemaOpenIsNamed) {
  OtherProcess other([&](auto& line) {
    auto mine = lock();
    if (!migrate(database_, mine, std::span(kSteps).first(1), {.wait = milliseconds(300)})) return 2;
    line.send('o');
    line.receive();
    return 0;
  });
  ASSERT_EQ(other.line().receive(), 'o');
  const auto refused = run(kSteps);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("pid " + std::to_string(other.pid())), std::string::npos)
      << refused.error().message;
  other.signal(SIGKILL);
  other.wait();
  EXPECT_TRUE(run(kSteps));
}

TEST_F(SchemaTest, WhoChangesTheSchemaIsWaitedFor) {
  auto elsewhere = lock();
  ASSERT_TRUE(elsewhere.try_exclude());
  EXPECT_FALSE(run(kSteps));
  elsewhere.release();
  EXPECT_TRUE(run(kSteps));
}

TEST_F(SchemaTest, FourProcessesMayStartOnAnEmptyVolumeAtOnce) {
  const auto start = [&](OtherProcess::Line& line) {
    line.receive();
    base::SystemClock clock;
    auto store = Store::open(test_options(dir_.str() + "/data"), clock);
    if (!store) {
      std::cerr << store.error().message << '\n';
      return 2;
    }
    const bool written = write(**store, bump).has_value();
    line.send('w');
    line.receive();
    return written ? 0 : 3;
  };
  std::vector<std::unique_ptr<OtherProcess>> all;
  for (int i = 0; i < 4; ++i) all.push_back(std::make_unique<OtherProcess>(start));
  for (auto& other : all) other->line().send('g');
  for (auto& other : all) EXPECT_EQ(other->line().receive(), 'w');
  for (auto& other : all) other->line().send('x');
  for (auto& other : all) EXPECT_EQ(other->wait(), 0);
  base::SystemClock clock;
  auto store = opened(test_options(dir_.str() + "/data"), clock);
  EXPECT_EQ(bumps(*store), 4);
}

}  // namespace
}  // namespace millrace::storage

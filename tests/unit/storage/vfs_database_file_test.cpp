#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include "storage/data_dir.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/vfs.h"
#include "tests/support/temp_dir.h"

namespace millrace::storage {
namespace {

std::string text(Db& db, Sql sql) {
  auto s = db.prepare(sql);
  s.step();
  return s.text(0);
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A connection that uses only SQLite's default VFS.
class PlainSqlite {
 public:
  explicit PlainSqlite(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK);
    run("SELECT count(*) FROM t");
  }
  ~PlainSqlite() { sqlite3_close(handle_); }
  PlainSqlite(const PlainSqlite&) = delete;
  PlainSqlite& operator=(const PlainSqlite&) = delete;
  void run(const char* sql) { EXPECT_EQ(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr), SQLITE_OK); }

 private:
  sqlite3* handle_ = nullptr;
};

// A database whose checkpoints the test runs itself.
class Copied {
 public:
  explicit Copied(std::string path)
      : path_(std::move(path)), writer_({.path = path_}), copier_({.path = path_}) {
    writer_.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, bytes BLOB)");
    text(copier_, "SELECT count(*) FROM t");
  }

  // A row occupies a third of a page.
  void insert(int rows) {
    const std::string bytes(2600, 'x');
    writer_.execute("BEGIN IMMEDIATE");
    for (int i = 0; i < rows; ++i) {
      writer_.prepare("INSERT INTO t (bytes) VALUES (?1)").bind(BlobView{bytes}).run();
    }
    writer_.execute("COMMIT");
  }
  // The number of pages does not change.
  void change_all() {
    const std::string bytes(2600, 'y');
    writer_.prepare("UPDATE t SET bytes = ?1").bind(BlobView{bytes}).run();
  }
  void change_every(int nth) {
    writer_.prepare("UPDATE t SET bytes = x'02' WHERE id % ?1 = 0").bind(nth).run();
  }
  // The number of pages copied into the database.
  std::int64_t copy() {
    auto s = copier_.prepare("PRAGMA wal_checkpoint(PASSIVE)");
    s.step();
    EXPECT_EQ(s.integer(0), 0);
    return s.integer(2);
  }
  // The database file has everything.
  void drop_log() { copier_.execute("PRAGMA wal_checkpoint(TRUNCATE)"); }
  std::int64_t bytes() const { return file_bytes(path_); }
  const std::string& path() const { return path_; }

  void expect_rows(int rows) const {
    SqliteDb reader({.path = path_, .mode = SqliteDb::Mode::kReader});
    EXPECT_EQ(text(reader, "SELECT count(*) FROM t"), std::to_string(rows));
    EXPECT_EQ(text(reader, "PRAGMA integrity_check"), "ok");
  }

 private:
  std::string path_;
  SqliteDb writer_, copier_;
};

// Limits the size of all files during its lifetime.
class LongestFile {
 public:
  explicit LongestFile(std::int64_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &own_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{static_cast<rlim_t>(bytes), own_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~LongestFile() {
    ::setrlimit(RLIMIT_FSIZE, &own_);
    std::signal(SIGXFSZ, handler_);
  }
  LongestFile(const LongestFile&) = delete;
  LongestFile& operator=(const LongestFile&) = delete;

 private:
  rlimit own_{};
  void (*handler_)(int) = nullptr;
};

class CopyWritesTest : public ::testing::Test {
 protected:
  std::string path(const char* name = "x.db") const { return dir_.str() + "/" + name; }
  support::TempDir dir_;
};

TEST_F(CopyWritesTest, TheFileIsWhatSQLiteItselfWouldHaveWritten) {
  for (const char* name : {"ours.db", "plain.db"}) {
    Copied database(path(name));
    PlainSqlite plain(path(name));
    const bool is_ours = std::string(name) == "ours.db";
    const auto copy = [&] { is_ours ? void(database.copy()) : plain.run("PRAGMA wal_checkpoint(PASSIVE)"); };
    database.insert(900);
    copy();
    database.insert(2);
    database.change_every(7);
    copy();
    database.insert(500);
    is_ours ? database.drop_log() : plain.run("PRAGMA wal_checkpoint(TRUNCATE)");
    database.expect_rows(1402);
  }
  EXPECT_EQ(bytes_of(path("ours.db")), bytes_of(path("plain.db")));
}

TEST_F(CopyWritesTest, AFileSystemInMemoryHasItAll) {
  const support::TempDir memory("/dev/shm");
  Copied database(memory.str() + "/x.db");
  database.insert(900);
  database.drop_log();
  database.expect_rows(900);
}

TEST_F(CopyWritesTest, WhatAReaderHadReadBeforeIsReadAgain) {
  Copied database(path());
  database.insert(900);
  database.drop_log();
  SqliteDb reader({.path = path(), .mode = SqliteDb::Mode::kReader, .cache_kib = 64});
  EXPECT_EQ(text(reader, "SELECT sum(length(bytes)) FROM t"), std::to_string(900 * 2600));
  database.change_every(2);
  database.insert(300);
  database.drop_log();
  EXPECT_EQ(text(reader, "SELECT sum(length(bytes)) FROM t"), std::to_string((450 + 300) * 2600 + 450));
}

TEST_F(CopyWritesTest, APartIsCopiedWhereAReaderNeedsTheRestInTheLog) {
  Copied database(path());
  database.insert(900);
  SqliteDb reader({.path = path(), .mode = SqliteDb::Mode::kReader});
  reader.execute("BEGIN");
  EXPECT_EQ(text(reader, "SELECT count(*) FROM t"), "900");
  database.insert(600);
  const std::int64_t part = database.copy();
  EXPECT_GT(part, 300);
  EXPECT_EQ(text(reader, "SELECT count(*) FROM t WHERE length(bytes) = 2600"), "900");
  database.expect_rows(1500);
  reader.execute("COMMIT");
  EXPECT_GT(database.copy(), part);
  database.drop_log();
  database.expect_rows(1500);
}

TEST_F(CopyWritesTest, ADatabaseThatMayNotGrowKeepsItsLog) {
  Copied database(path());
  database.insert(30);
  database.copy();
  database.insert(900);
  {
    const LongestFile longest(database.bytes() + 40 * kPageBytes);
    EXPECT_THROW(database.copy(), DbError);
  }
  database.expect_rows(930);
  EXPECT_GT(database.copy(), 300);
  database.drop_log();
  database.expect_rows(930);
}

TEST_F(CopyWritesTest, APartThatMayNotGrowTheDatabaseFailsAndKeepsTheLog) {
  Copied database(path());
  database.insert(30);
  database.copy();
  database.insert(60);
  SqliteDb reader({.path = path(), .mode = SqliteDb::Mode::kReader});
  reader.execute("BEGIN");
  EXPECT_EQ(text(reader, "SELECT count(*) FROM t"), "90");
  database.insert(300);
  {
    const LongestFile longest(database.bytes() + kPageBytes);
    EXPECT_THROW(database.copy(), DbError);
  }
  reader.execute("COMMIT");
  database.expect_rows(390);
  EXPECT_GT(database.copy(), 100);
  database.drop_log();
  database.expect_rows(390);
}

}  // namespace
}  // namespace millrace::storage

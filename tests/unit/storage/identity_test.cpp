#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "storage/data_dir.h"
#include "storage/sqlite/database.h"
#include "storage/sqlite/migrations.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage {
namespace {

namespace fs = std::filesystem;

std::string line_of(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// A database of another program.
void make_database(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  sqlite3_close(db);
}

class Identity : public ::testing::Test {
 protected:
  Identity() { EXPECT_EQ(start(), ""); }
  // The error of opening the store; empty: it opened.
  std::string start(const std::string& data) const {
    const auto store = Store::open(test_options(data), clock_);
    return store ? std::string() : store.error().message;
  }
  std::string start() const { return start(data_); }

  const support::TempDir dir_;
  const std::string data_ = dir_.str() + "/data", other_ = dir_.str() + "/other";
  const DataDir files_{data_};
  const base::SystemClock clock_;
};

TEST_F(Identity, TheDatabaseAndTheFileHaveOneIdForGood) {
  const std::string id = line_of(files_.identity);
  EXPECT_TRUE(base::Uuid::parse(id)) << id;
  EXPECT_EQ(identity_of(*std::make_unique<SqliteDb>(SqliteDb::Options{.path = files_.database})).str(), id);
  EXPECT_EQ(start(), "");
  EXPECT_EQ(line_of(files_.identity), id);
}

TEST_F(Identity, TheDatabaseOfAnotherStoreIsRefused) {
  ASSERT_EQ(start(other_), "");
  fs::copy_file(other_ + "/millrace.db", files_.database, fs::copy_options::overwrite_existing);
  const std::string why = start();
  EXPECT_NE(why.find(line_of(other_ + "/identity")), std::string::npos) << why;
  EXPECT_NE(why.find(line_of(files_.identity)), std::string::npos) << why;
  EXPECT_NE(why.find("; put back the database of that store"), std::string::npos) << why;
  fs::remove(files_.identity);
  EXPECT_EQ(start(), "") << "without an identity file, the database is accepted";
  EXPECT_EQ(line_of(files_.identity), line_of(other_ + "/identity"));
}

// Overwrites the first page with that of an empty database.
TEST_F(Identity, NoStoreIsMadeOverADatabaseWithoutTables) {
  for (const auto& trace : {files_.identity, files_.pepper}) {
    for (const auto& file : {files_.database, files_.identity, files_.pepper}) fs::remove(file);
    make_database(files_.database, "PRAGMA journal_mode = DELETE; CREATE TABLE t (x); DROP TABLE t; VACUUM");
    std::ofstream(trace) << "01a21b04-f3a8-70c2-82f1-1d8b43b12624\n";
    const auto bytes = fs::file_size(files_.database);
    ASSERT_GT(bytes, 0U);
    const std::string why = start();
    EXPECT_TRUE(why.starts_with(files_.database + " has no tables, but " + trace + " shows")) << why;
    EXPECT_EQ(fs::file_size(files_.database), bytes);
  }
}

TEST_F(Identity, TheDatabaseOfAnotherProgramIsRefused) {
  fs::create_directory(other_);
  fs::permissions(other_, fs::perms::owner_all);
  make_database(other_ + "/millrace.db", "CREATE TABLE songs (title)");
  const std::string why = start(other_);
  EXPECT_NE(why.find("contains tables of another program"), std::string::npos) << why;
}

TEST_F(Identity, AFileWithoutAnIdIsRefused) {
  std::ofstream(files_.identity, std::ios::trunc) << "?\n";
  const std::string why = start();
  EXPECT_TRUE(why.starts_with(files_.identity + " has no valid id")) << why;
}

// As after restoring a backup that is older than an upgrade.
TEST_F(Identity, ADatabaseOfBeforeTheTableTakesTheIdOfTheFile) {
  const std::string id = line_of(files_.identity);
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(files_.database + suffix);
  std::string schema;
  for (const Migration& step : migrations().first(15)) schema.append(step.sql);
  make_database(files_.database, schema + "PRAGMA user_version = 15");
  EXPECT_EQ(start(), "");
  EXPECT_EQ(line_of(files_.identity), id);
  EXPECT_EQ(identity_of(*std::make_unique<SqliteDb>(SqliteDb::Options{.path = files_.database})).str(), id);
}

}  // namespace
}  // namespace millrace::storage

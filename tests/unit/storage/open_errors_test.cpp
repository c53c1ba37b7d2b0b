#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/sqlite/database.h"
#include "storage/sqlite/errors.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/storage/opened_store.h"
#include "tests/unit/storage/other_process.h"

namespace millrace::storage {
namespace {

// The error of opening a data directory after `spoil` has changed its database.
std::string reported_of(const std::function<void(const std::string& database)>& spoil) {
  const support::TempDir dir;
  const base::SystemClock clock;
  opened(test_options(dir.str() + "/data"), clock);
  spoil(dir.str() + "/data/millrace.db");
  const auto store = Store::open(test_options(dir.str() + "/data"), clock);
  return store ? "it opened" : store.error().message;
}

bool says(const std::string& message, std::string_view part) {
  return message.find(part) != std::string::npos;
}

TEST(OpenFailure, AnotherProgramsFileIsNoDatabase) {
  const std::string told =
      reported_of([](const std::string& database) { std::ofstream(database) << std::string(8192, 'x'); });
  EXPECT_TRUE(says(told, "/data/millrace.db is not a millrace database")) << told;
  EXPECT_TRUE(says(told, "; set --data to another folder, or restore a backup")) << told;
}

TEST(OpenFailure, ADatabaseWhosePagesAreSpoiltIsDamaged) {
  const std::string told = reported_of([](const std::string& database) {
    std::fstream file(database, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file << std::string(kPageBytes - 100, '\xff');
  });
  EXPECT_TRUE(says(told, "/data/millrace.db is damaged (")) << told;
  EXPECT_TRUE(says(told, "; restore a backup")) << told;
}

TEST(OpenFailure, AFolderInItsPlaceIsNamedAsTheSystemDoes) {
  const std::string told = reported_of([](const std::string& database) {
    std::filesystem::remove(database);
    std::filesystem::create_directory(database);
  });
  EXPECT_TRUE(says(told, "Is a directory")) << told;
}

TEST(OpenFailure, ALockedDatabaseIsReportedWithTheProcessToStop) {
  const base::Error error = cannot_open("/d/millrace.db", sqlite_error(SQLITE_BUSY, "database is locked"));
  EXPECT_TRUE(error.message.starts_with("/d/millrace.db is locked by another program")) << error.message;
  EXPECT_TRUE(says(error.message, "; end it (`fuser /d/millrace.db`")) << error.message;
}

TEST(OpenFailure, ADiskErrorIsReportedWithTheAdviceToCheckTheDisk) {
  const base::Error error =
      cannot_open("/d/millrace.db", sqlite_error(SQLITE_IOERR_READ, "disk I/O error", EIO));
  EXPECT_TRUE(error.message.starts_with("/d/millrace.db cannot be read or written: disk I/O error: "));
  EXPECT_TRUE(says(error.message, "; check the disk")) << error.message;
}

TEST(OpenFailure, EverySystemErrorSaysWhatToDo) {
  for (const int error : {EACCES, EPERM, EROFS, ENOSPC, EDQUOT, EMFILE, ENFILE})
    EXPECT_TRUE(says(system_failure(error), "; ")) << system_failure(error);
  EXPECT_TRUE(says(system_failure(EROFS), "mounted read-only"));
  EXPECT_TRUE(says(system_failure(EACCES), "chown"));
}

// Root has all permissions, so it becomes the user `nobody`.
int start_as_one_who_may_not(const std::string& data, const std::string& file, mode_t mode) {
  constexpr uid_t kNobody = 65534;
  const base::SystemClock clock;
  opened(test_options(data), clock);
  std::ofstream(data + "/" + file, std::ios::app) << "";
  const bool is_root = ::geteuid() == 0;
  for (const auto& each : std::filesystem::recursive_directory_iterator(data)) {
    if (is_root && ::chown(each.path().c_str(), kNobody, kNobody) != 0) return 2;
  }
  for (const std::string& folder : {data, data + "/.."}) {
    if (is_root && ::chown(folder.c_str(), kNobody, kNobody) != 0) return 2;
  }
  if (::chmod((data + "/" + file).c_str(), mode) != 0) return 3;
  if (is_root && ::setresuid(kNobody, kNobody, kNobody) != 0) return 4;
  const auto store = Store::open(test_options(data), clock);
  if (store) return 5;
  const std::string& told = store.error().message;
  return says(told, "/" + file + ": cannot be opened: permission denied; chown") ? 0 : 6;
}

TEST(OpenFailure, AFileThatThisUserMayNotUseIsNamed) {
  struct Closed {
    const char* file;
    mode_t mode;
  };
  for (const Closed& closed : {Closed{"millrace.db", 0}, Closed{"millrace.db", 0400},
                               Closed{"millrace.db-wal", 0}, Closed{"locks/schema.lock", 0400}}) {
    const support::TempDir dir;
    OtherProcess other(
        [&](auto&) { return start_as_one_who_may_not(dir.str() + "/data", closed.file, closed.mode); });
    EXPECT_EQ(other.wait(), 0) << closed.file << " " << closed.mode;
  }
}

}  // namespace
}  // namespace millrace::storage

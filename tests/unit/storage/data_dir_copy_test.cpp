#include "storage/backup/data_dir_copy.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "platform/base/fd.h"
#include "storage/sqlite/database.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

class DataDirCopyTest : public ::testing::Test {
 protected:
  base::Result<DataDirCopy> copy() { return copy_data_dir(data_.string(), copy_.string(), 0); }

  support::TempDir dir_;
  fs::path data_ = dir_.path() / "data", copy_ = dir_.path() / "copy";
  base::SystemClock clock_;
  std::unique_ptr<Store> store_ = opened(test_options(data_.string()), clock_);
};

TEST_F(DataDirCopyTest, ACopyIsADataDirectoryOfItsOwn) {
  ASSERT_TRUE(write(*store_, bump));
  dir_.write("data/pepper", "salt");
  fs::permissions(data_ / "pepper", fs::perms::owner_read | fs::perms::owner_write);
  const auto copied = copy();
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_GT(copied->database_bytes, 0);
  ASSERT_TRUE(write(*store_, bump));
  const auto other = opened(test_options(copy_.string()), clock_);
  EXPECT_EQ(bumps(*other) + 1, bumps(*store_));
  EXPECT_EQ(text_of(copy_ / "pepper"), "salt");
  EXPECT_EQ(fs::status(copy_ / "pepper").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(DataDirCopyTest, BlobsThatAreElsewhereAreNotCopiedAndNotMissed) {
  SqliteDb({.path = (data_ / "millrace.db").string()})
      .execute(
          "INSERT INTO blobs (sha256, tenant, path, bytes, refs) VALUES (x'01', 't', 'aa/in-the-bucket', 5, "
          "1)");
  dir_.write("data/blobs/cache/aa/copy", "bytes");
  const auto copied = copy_data_dir(data_.string(), copy_.string(), 0, BlobPlace::kElsewhere);
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->gone, 0);
  EXPECT_FALSE(fs::exists(copy_ / "blobs"));
  EXPECT_TRUE(opened(test_options(copy_.string()), clock_));
}

TEST_F(DataDirCopyTest, WhatTheDatabaseNamesIsThereAndWhatIsGoneIsCounted) {
  SqliteDb({.path = (data_ / "millrace.db").string()})
      .execute(
          "INSERT INTO blobs (sha256, tenant, path, bytes, refs) VALUES (x'01', 't', 'aa/here', 5, 1), "
          "(x'02', 't', 'aa/gone', 5, 1)");
  dir_.write("data/blobs/aa/here", "bytes");
  dir_.write("data/blobs/incoming/half", "by");
  const auto copied = copy();
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->gone, 1);
  EXPECT_EQ(text_of(copy_ / "blobs/aa/here"), "bytes");
  EXPECT_FALSE(fs::exists(copy_ / "blobs/incoming"));
}

TEST_F(DataDirCopyTest, WhatBelongsToProcessesAndMachinesIsLeftOut) {
  for (const char* name : {"workers/w.lock", "machines/id/disk.img", "backups/millrace-v1.db", "ssh/w/key"})
    dir_.write(std::string("data/") + name, "x");
  dir_.write("data/ca/user_ca", "authority");
  ASSERT_TRUE(copy());
  for (const char* name : {"locks", "workers", "machines", "backups", "ssh"})
    EXPECT_FALSE(fs::exists(copy_ / name)) << name;
  EXPECT_EQ(text_of(copy_ / "ca/user_ca"), "authority");
}

TEST_F(DataDirCopyTest, AFolderThatHoldsSomethingIsNotTouched) {
  dir_.write("copy/mine", "x");
  const auto refused = copy();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("already exists"), std::string::npos) << refused.error().message;
  EXPECT_EQ(text_of(copy_ / "mine"), "x");
}

TEST_F(DataDirCopyTest, OfTheDataDirectoryItselfOnlyBackupsTakesACopy) {
  const auto refused = copy_data_dir(data_.string(), (data_ / "today").string(), 0);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("backups/"), std::string::npos) << refused.error().message;
  EXPECT_FALSE(copy_data_dir(data_.string(), (data_ / "backups").string(), 0));
  ASSERT_TRUE(copy_data_dir(data_.string(), (data_ / "backups/today").string(), 0));
  EXPECT_EQ(fs::status(data_ / "backups").permissions(), fs::perms::owner_all);
  ASSERT_TRUE(copy());
  EXPECT_FALSE(fs::exists(copy_ / "backups"));
}

TEST_F(DataDirCopyTest, WithoutSpaceNothingIsStartedAndTheErrorNamesTheMissingSpace) {
  constexpr std::int64_t kMoreThanAnyDiskHas = std::int64_t{1} << 60;
  const auto refused =
      copy_data_dir(data_.string(), (dir_.path() / "new/copy").string(), kMoreThanAnyDiskHas);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(" MiB more are needed: the copy takes "), std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().message.find("store.disk_free_min"), std::string::npos);
  EXPECT_FALSE(fs::exists(dir_.path() / "new"));
}

TEST_F(DataDirCopyTest, WhatLiesBesideTheCopyIsLeftAlone) {
  dir_.write("copy.new/pepper", "somebody's");
  ASSERT_TRUE(copy());
  EXPECT_TRUE(fs::exists(dir_.path() / "copy.new/pepper"));
  EXPECT_FALSE(fs::exists(copy_ / "pepper"));
  EXPECT_EQ(fs::status(copy_).permissions(), static_cast<fs::perms>(0711));
}

TEST_F(DataDirCopyTest, WhatKilledCopiesLeftIsRemovedAndNothingElse) {
  const auto mode = [&](const char* name, int bits) {
    fs::permissions(dir_.path() / name, static_cast<fs::perms>(bits));
  };
  for (const char* name :
       {"other.new-aB3xYz", "busy.new-aB3xYz", "whole.new-202611", "mine.new-aB3xYz", "copy.news-aB3xYz"}) {
    dir_.write(std::string(name) + "/pepper", "salt");
    mode(name, 0710);
  }
  mode("whole.new-202611", 0711);  // a complete backup, or a data directory
  mode("mine.new-aB3xYz", 0700);
  fs::create_directory_symlink(dir_.path() / "copy.news-aB3xYz", dir_.path() / "link.new-aB3xYz");
  const base::Fd busy(::open((dir_.path() / "busy.new-aB3xYz").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(busy.get(), LOCK_EX), 0);
  ASSERT_TRUE(copy());
  EXPECT_FALSE(fs::exists(dir_.path() / "other.new-aB3xYz"));
  for (const char* name :
       {"busy.new-aB3xYz", "whole.new-202611", "mine.new-aB3xYz", "copy.news-aB3xYz", "link.new-aB3xYz"})
    EXPECT_TRUE(fs::exists(dir_.path() / name / "pepper")) << name;
}

TEST_F(DataDirCopyTest, ACopyOfABusyStoreIsWhole) {
  std::jthread writer([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) EXPECT_TRUE(write(*store_, bump));
  });
  const auto copied = copy();
  writer.request_stop();
  writer.join();
  ASSERT_TRUE(copied) << copied.error().message;
  SqliteDb taken({.path = (copy_ / "millrace.db").string()});
  auto s = taken.prepare("PRAGMA integrity_check");
  ASSERT_TRUE(s.step());
  EXPECT_EQ(s.text(0), "ok");
}

}  // namespace
}  // namespace millrace::storage

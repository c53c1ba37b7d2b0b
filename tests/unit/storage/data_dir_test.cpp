#include "storage/data_dir.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temp_dir.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage {
namespace {

unsigned rights_of(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? file.st_mode & 07777 : 0;
}

TEST(DataDirTest, DataIs0711AndEverythingInItPrivate) {
  support::TempDir dir;
  const std::string data = dir.str() + "/deep/data";
  base::SystemClock clock;
  auto store = opened(test_options(data), clock);
  EXPECT_EQ(rights_of(data), 0711u);
  for (const char* folder : {"/locks", "/blobs"}) EXPECT_EQ(rights_of(data + folder), 0700u) << folder;
  for (const char* file :
       {"/millrace.db", "/locks/schema.lock", "/locks/write.lock", "/locks/checkpoint.lock"}) {
    EXPECT_EQ(rights_of(data + file), 0600u) << file;
  }
}

TEST(DataDirTest, APrivateFolderMayHoldOtherFilesAndASharedOneIsNotChanged) {
  for (const mode_t mode : {0700, 0755}) {
    const support::TempDir dir;
    const std::string data = dir.write("data/config.yaml", "mock: true\n").parent_path().string();
    ASSERT_EQ(::chmod(data.c_str(), mode), 0);
    EXPECT_EQ(open_data_dir(data).has_value(), mode == 0700);
    EXPECT_EQ(rights_of(data), mode == 0700 ? 0711u : 0755u);
  }
}

TEST(DataDirTest, ASharedCopyOfADataDirectoryIsOpenedOrSaysThatItsDatabaseIsMissing) {
  const support::TempDir dir;
  const std::string data = dir.str() + "/data";
  const base::SystemClock clock;
  ASSERT_TRUE(Store::open(test_options(data), clock));
  std::filesystem::remove_all(data + "/locks");
  ASSERT_EQ(::chmod(data.c_str(), 0755), 0);
  EXPECT_TRUE(Store::open(test_options(data), clock)) << "a copy has no locks";
  std::filesystem::remove_all(data + "/locks");
  std::filesystem::remove(data + "/millrace.db");
  ASSERT_EQ(::chmod(data.c_str(), 0755), 0);
  const auto lost = Store::open(test_options(data), clock);
  ASSERT_FALSE(lost);
  EXPECT_NE(lost.error().message.find("millrace.db is missing, but"), std::string::npos)
      << lost.error().message;
  EXPECT_EQ(rights_of(data), 0755u);
}

TEST(DataDirTest, RootDoesNotChangeAnotherUsersStoreAndNamesItsOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may write files of another user";
  const support::TempDir dir;
  const std::string data = dir.str() + "/data";
  const base::SystemClock clock;
  opened(test_options(data), clock);
  std::filesystem::remove_all(data + "/locks");
  ASSERT_EQ(::chown((data + "/millrace.db").c_str(), 65534, 65534), 0);
  const auto refused = Store::open(test_options(data), clock);
  ASSERT_FALSE(refused);
  const std::string& what = refused.error().message;
  EXPECT_NE(what.find("belongs to nobody"), std::string::npos) << what;
  EXPECT_NE(what.find("runuser -u nobody -- "), std::string::npos) << what;
  EXPECT_FALSE(std::filesystem::exists(data + "/locks"));
}

// A data directory that a gateway has used: the API created its pepper there.
class LostDatabase : public ::testing::Test {
 protected:
  LostDatabase() {
    opened(test_options(data), clock);
    dir.write("data/pepper", "salt");
  }
  std::string told() const {
    const auto store = Store::open(test_options(data), clock);
    return store ? "it opened" : store.error().message;
  }

  const support::TempDir dir;
  const std::string data = dir.str() + "/data";
  const std::string database = data + "/millrace.db";
  const base::SystemClock clock;
};

TEST_F(LostDatabase, AMissingOneIsNotReplacedByANewOne) {
  EXPECT_EQ(told(), "it opened");
  std::filesystem::remove(database);
  const std::string what = told();
  EXPECT_TRUE(what.starts_with(database + " is missing, but " + data + "/identity shows")) << what;
  EXPECT_NE(what.find("; restore a backup"), std::string::npos) << what;
  EXPECT_NE(what.find(", or move " + data + " away"), std::string::npos) << what;
  EXPECT_FALSE(std::filesystem::exists(database));
}

TEST_F(LostDatabase, AnEmptyOneIsLeftAsItIs) {
  std::filesystem::resize_file(database, 0);
  EXPECT_TRUE(told().starts_with(database + " is empty, but ")) << told();
  EXPECT_EQ(std::filesystem::file_size(database), 0u);
}

TEST_F(LostDatabase, PepperAndBlobsShowItToo) {
  std::filesystem::remove(database);
  std::filesystem::remove(data + "/identity");
  EXPECT_NE(told().find(data + "/pepper shows"), std::string::npos) << told();
  std::filesystem::remove(data + "/pepper");
  dir.write("data/blobs/0a/some", "x");
  EXPECT_NE(told().find(data + "/blobs shows"), std::string::npos) << told();
}

TEST_F(LostDatabase, AStartThatWasCutShortBeforeOrAfterItIsRepeated) {
  std::filesystem::remove(data + "/pepper");
  std::filesystem::remove(data + "/identity");
  EXPECT_EQ(told(), "it opened") << "only the database exists";
  std::filesystem::remove(data + "/identity");
  std::filesystem::resize_file(database, 0);
  EXPECT_EQ(told(), "it opened") << "only an empty database file exists";
  std::filesystem::remove(data + "/identity");
  std::filesystem::remove(database);
  EXPECT_EQ(told(), "it opened") << "only the folders exist";
}

TEST(DataDirTest, NetworkFileSystemsAreRefusedByName) {
  EXPECT_EQ(file_system_info(0x6969).support, FileSystem::kRefused);
  EXPECT_EQ(file_system_info(0x6969).name, "NFS");
  for (const std::uint32_t magic : {0xFF534D42u, 0xFE534D42u, 0x517Bu, 0x01021997u, 0x65735546u}) {
    EXPECT_EQ(file_system_info(magic).support, FileSystem::kRefused) << magic;
  }
}

TEST(DataDirTest, LocalFileSystemsAreTakenAndOthersOnlyWarnedAbout) {
  EXPECT_EQ(file_system_info(0xEF53).support, FileSystem::kLocal);
  EXPECT_EQ(file_system_info(0x12345).support, FileSystem::kUnknown);
}

TEST(DataDirTest, AFileInPlaceOfTheFolderIsRefusedWithWhatToDo) {
  support::TempDir dir;
  const auto refused = open_data_dir(dir.write("data", "x").string());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("is not a folder"), std::string::npos) << refused.error().message;
}

TEST(DataDirTest, AFolderThatCannotBeCreatedNamesTheFlagToSet) {
  const auto refused = open_data_dir("/proc/nowhere/data");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--data"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace millrace::storage

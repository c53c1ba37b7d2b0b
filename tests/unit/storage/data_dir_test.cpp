#include "storage/data_dir.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

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

TEST(DataDirTest, APrivateFolderMayHoldOtherThingsAndASharedOneIsLeftAsItIs) {
  for (const mode_t mode : {0700, 0755}) {
    const support::TempDir dir;
    const std::string data = dir.write("data/config.yaml", "mock: true\n").parent_path().string();
    ASSERT_EQ(::chmod(data.c_str(), mode), 0);
    EXPECT_EQ(open_data_dir(data).has_value(), mode == 0700);
    EXPECT_EQ(rights_of(data), mode == 0700 ? 0711u : 0755u);
  }
}

TEST(DataDirTest, NetworkFileSystemsAreRefusedByName) {
  EXPECT_EQ(file_system_kind(0x6969).verdict, FileSystem::kRefused);
  EXPECT_EQ(file_system_kind(0x6969).name, "NFS");
  for (const std::uint32_t magic : {0xFF534D42u, 0xFE534D42u, 0x517Bu, 0x01021997u, 0x65735546u}) {
    EXPECT_EQ(file_system_kind(magic).verdict, FileSystem::kRefused) << magic;
  }
}

TEST(DataDirTest, LocalFileSystemsAreTakenAndOthersOnlyWarnedAbout) {
  EXPECT_EQ(file_system_kind(0xEF53).verdict, FileSystem::kLocal);
  EXPECT_EQ(file_system_kind(0x12345).verdict, FileSystem::kUnknown);
}

TEST(DataDirTest, AFileInPlaceOfTheFolderIsRefusedWithWhatToDo) {
  support::TempDir dir;
  const auto refused = open_data_dir(dir.write("data", "x").string());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("is not a folder"), std::string::npos) << refused.error().message;
}

TEST(DataDirTest, AFolderThatCannotBeMadeSaysWhichFlagToSet) {
  const auto refused = open_data_dir("/proc/nowhere/data");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("--data"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace millrace::storage

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "storage/data_dir.h"
#include "storage/sqlite/migrations.h"
#include "storage/sqlite/sync_failure.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"
#include "tests/unit/storage/failing_sync.h"
#include "tests/unit/storage/opened_store.h"
#include "tests/unit/storage/other_process.h"

namespace millrace::storage {
namespace {

using support::wait_until;

constexpr int kFailed = 1;  // the exit code that the process ends with
constexpr int kNoFilter = 2, kWentOn = 3;

// In another process: opens the store, makes the syncs of `file` fail, writes, and waits for the end of the
// process.
int write_with_failing_syncs(const std::string& data_dir, const std::string& file) {
  base::SystemClock clock;
  auto store = opened(test_options(data_dir), clock);
  if (!write(*store, bump)) return kWentOn;
  const auto descriptors = descriptors_of(file);
  if (descriptors.empty() || !fail_syncs_of(descriptors)) return kNoFilter;
  static_cast<void>(write(*store, bump));
  wait_until([] { return false; }, std::chrono::seconds(20));
  return kWentOn;
}

// Opens the store, reports it, and waits for the end of the process.
int wait_with_open_store(const std::string& data_dir, OtherProcess::Line& line) {
  base::SystemClock clock;
  auto store = opened(test_options(data_dir), clock);
  line.send('o');
  wait_until([] { return false; }, std::chrono::seconds(20));
  return kWentOn;
}

class FailedSync : public ::testing::Test {
 protected:
  std::string database() const { return std::filesystem::canonical(dir_.path()).string() + "/millrace.db"; }
  std::string log() const { return database() + "-wal"; }
  int end_of_writer(const std::string& file) const {
    OtherProcess writer([&](auto&) { return write_with_failing_syncs(dir_.str(), file); });
    return writer.wait();
  }

  support::TempDir dir_;
};

TEST_F(FailedSync, OfTheLogEndsTheProcess) { EXPECT_EQ(end_of_writer(log()), kFailed); }

TEST_F(FailedSync, OfTheDatabaseInACheckpointEndsTheProcess) {
  EXPECT_EQ(end_of_writer(database()), kFailed);
}

TEST_F(FailedSync, EndsEveryProcessOfTheStore) {
  for (const std::string& file : {log(), database()}) {
    OtherProcess idle([&](auto& line) { return wait_with_open_store(dir_.str(), line); });
    ASSERT_EQ(idle.line().receive(), 'o');
    EXPECT_EQ(end_of_writer(file), kFailed) << file;
    EXPECT_EQ(idle.wait(), kFailed) << file;
  }
}

TEST_F(FailedSync, IsOverWithTheNextStart) {
  EXPECT_EQ(end_of_writer(log()), kFailed);
  base::SystemClock clock;
  const auto store = opened(test_options(dir_.str()), clock);
  EXPECT_GE(bumps(*store), 1);
  EXPECT_TRUE(write(*store, bump));
  EXPECT_FALSE((*FailureFlag::open(dir_.str() + "/locks", database()))->is_set());
}

// For example a stopped process.
TEST_F(FailedSync, AStartRefusesWhileAnotherProcessKeepsTheStoreOpen) {
  base::SystemClock clock;
  opened(test_options(dir_.str()), clock).reset();
  SchemaLock other(*LockFile::open(dir_.str() + "/locks/schema.lock"));
  ASSERT_TRUE(other.try_share());
  const auto flag = *FailureFlag::open(dir_.str() + "/locks", database());
  FailureFlag::set_for_file(log(), "Input/output error");
  Store::Options options = test_options(dir_.str());
  options.schema_wait = std::chrono::milliseconds(50);
  const auto store = Store::open(options, clock);
  ASSERT_FALSE(store);
  EXPECT_NE(store.error().message.find("Input/output error"), std::string::npos) << store.error().message;
  EXPECT_NE(store.error().message.find("still has the store open"), std::string::npos)
      << store.error().message;
}

TEST_F(FailedSync, TheFlagNamesProcessFileAndError) {
  const auto flag = *FailureFlag::open(dir_.str(), database());
  EXPECT_FALSE(flag->is_set());
  FailureFlag::set_for_file("/another/millrace.db", "Input/output error");
  EXPECT_FALSE(flag->is_set());
  FailureFlag::set_for_file(log(), "Input/output error");
  const std::string reason = flag->reason();
  EXPECT_TRUE(reason.starts_with("pid " + std::to_string(::getpid()) + ", ")) << reason;
  EXPECT_TRUE(reason.ends_with(": " + log() + ": Input/output error")) << reason;
  flag->clear();
  EXPECT_FALSE(flag->is_set());
}

// The number of pages of a file that are in the page cache.
std::size_t cached_pages(const std::string& path, std::size_t bytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* map = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(::mincore(map, bytes, pages.data()), 0);
  ::munmap(map, bytes);
  ::close(file);
  return static_cast<std::size_t>(std::ranges::count_if(pages, [](unsigned char page) { return page & 1; }));
}

TEST(DropCachedPages, LeavesNoPageInMemory) {
  constexpr std::size_t kBytes = std::size_t{1} << 20;
  const support::TempDir dir;
  struct statfs about {};
  ASSERT_EQ(::statfs(dir.str().c_str(), &about), 0);
  if (about.f_type == 0x01021994) GTEST_SKIP() << "tmpfs keeps files in memory only";
  const std::string path = dir.write("file", std::string(kBytes, 'x'));
  EXPECT_EQ(cached_pages(path, kBytes), kBytes / 4096);
  ASSERT_TRUE(drop_cached_pages(path));
  EXPECT_EQ(cached_pages(path, kBytes), 0U);
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), std::string(kBytes, 'x'));
}

TEST(DropCachedPages, HasNothingToDoWithoutAFile) { EXPECT_TRUE(drop_cached_pages("/nowhere/at/all")); }

}  // namespace
}  // namespace millrace::storage

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "storage/blobs/blob_files.h"
#include "storage/blobs/blobs.h"
#include "storage/blobs/piece_writer.h"
#include "storage/data_dir.h"
#include "storage/db/db.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/storage/opened_store.h"
#include "tests/unit/storage/other_process.h"

namespace millrace::storage {
namespace {

constexpr int kNoMount = 77;

std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  return files;
}

class BlobsDiskTest : public ::testing::Test {
 protected:
  std::unique_ptr<Blobs> open() const {
    auto opened = open_file_blobs(folder_, 0);
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }

  static BlobRef kept(Blobs& blobs, const std::string& content) {
    auto writer = blobs.begin(0);
    EXPECT_TRUE((*writer)->append(content));
    const Staged blob = (*writer)->finish().value();
    blob->set_referenced(true);
    return blob->ref();
  }

  std::int64_t bytes_on_disk() const {
    std::int64_t bytes = 0;
    for (const std::string& path : files_below(folder_)) {
      struct stat file {};
      if (::stat(path.c_str(), &file) == 0) bytes += file.st_blocks * 512;
    }
    return bytes;
  }

  support::TempDir dir_;
  std::string folder_ = dir_.str() + "/blobs";
};

TEST_F(BlobsDiskTest, AFileThatHasLostOrGotBytesIsDamagedAndIsNotOpened) {
  const auto blobs = open();
  const BlobRef ref = kept(*blobs, std::string(100'000, 'x'));
  for (const std::uintmax_t size : {0u, 99'999u, 100'001u}) {
    std::filesystem::resize_file(folder_ + "/" + ref.path, size);
    EXPECT_EQ(blobs->open(ref).error().code, base::Code::kStoredDamaged) << size;
    EXPECT_EQ(blobs->read(ref).error().code, base::Code::kStoredDamaged) << size;
  }
}

TEST_F(BlobsDiskTest, AFileWithABitThatHasFlippedIsNotRead) {
  const auto blobs = open();
  const BlobRef ref = kept(*blobs, std::string(100'000, 'x'));
  std::fstream file(folder_ + "/" + ref.path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(50'000).put('x' ^ 1).flush();
  const auto read = blobs->read(ref);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, base::Code::kStoredDamaged);
  EXPECT_EQ(read.error().message.find(ref.sha256_hex), std::string::npos)
      << "the file name belongs in the log, not in the message";
  file.seekp(50'000).put('x').flush();
  EXPECT_TRUE(blobs->read(ref)) << "after the repair the blob is readable";
}

TEST_F(BlobsDiskTest, AFileLiesUnderItsHashAndIsPrivate) {
  auto blobs = open();
  auto writer = blobs->begin(0);
  ASSERT_TRUE((*writer)->append("x"));
  const auto blob = (*writer)->finish();
  ASSERT_TRUE(blob);
  const BlobRef& ref = (*blob)->ref();
  EXPECT_EQ(ref.path.rfind(ref.sha256_hex.substr(0, 2) + "/" + ref.sha256_hex + "-", 0), 0u) << ref.path;
  struct stat file {};
  ASSERT_EQ(::stat((folder_ + "/" + ref.path).c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 07777, 0600u);
}

TEST_F(BlobsDiskTest, ZerosTakeNoSpaceOnTheDisk) {
  auto blobs = open();
  const std::string zeros(1 << 20, '\0');
  for (const std::int64_t expected : {std::int64_t{0}, std::int64_t{64} << 20}) {
    auto writer = blobs->begin(expected);
    for (int i = 0; i < 64; ++i) ASSERT_TRUE((*writer)->append(zeros));
    const auto blob = (*writer)->finish();
    ASSERT_TRUE(blob);
    EXPECT_LT(bytes_on_disk(), 1 << 20);
    EXPECT_EQ(blobs->read((*blob)->ref()).value(), std::string(64 << 20, '\0'));
  }
}

TEST_F(BlobsDiskTest, ABlobWithZerosBetweenDataIsReadAsItWasWritten) {
  auto blobs = open();
  std::string content(10 << 20, '\0');
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{65'535}, std::size_t{1} << 20, std::size_t{5'000'000}}) {
    content[at] = 'x';
  }
  content.replace(7 << 20, 1 << 20, std::string(1 << 20, 'y'));
  for (const std::size_t size :
       {content.size(), content.size() - 1, std::size_t{8} << 20, std::size_t{70'000}}) {
    for (const bool known : {true, false}) {
      const std::string part = content.substr(0, size);
      auto writer = blobs->begin(known ? static_cast<std::int64_t>(size) : 0);
      for (std::size_t at = 0; at < size; at += 300'000)
        ASSERT_TRUE((*writer)->append(part.substr(at, 300'000)));
      const auto blob = (*writer)->finish();
      ASSERT_TRUE(blob);
      const auto read = blobs->read((*blob)->ref());
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_TRUE(*read == part) << size << known;
    }
  }
}

TEST_F(BlobsDiskTest, AnAnnouncedSizeTakesNoSpace) {
  auto blobs = open();
  auto writer = blobs->begin(std::int64_t{64} << 20);
  ASSERT_TRUE((*writer)->append(std::string(1'500'000, 'x')));
  EXPECT_LT(bytes_on_disk(), 4 << 20);
}

TEST_F(BlobsDiskTest, WhatAKilledProcessWasWritingIsCollectedAndWhatALivingOneHoldsIsNot) {
  OtherProcess other([&](auto& line) {
    auto blobs = open();
    auto arriving = blobs->begin(1 << 20);
    auto writer = blobs->begin(0);
    const auto staged = (*writer)->finish();
    line.send(arriving && staged ? 's' : 'f');
    line.receive();
    return 0;
  });
  ASSERT_EQ(other.line().receive(), 's');
  auto blobs = open();
  const auto nobody = [](void*, const std::string&) { return false; };
  const std::int64_t later = std::int64_t{1} << 50;
  EXPECT_EQ(blobs->collect_orphans(later, 0, 100, nobody, nullptr), 0);
  other.signal(SIGKILL);
  other.wait();
  EXPECT_EQ(blobs->collect_orphans(later, 0, 100, nobody, nullptr), 2);
  EXPECT_TRUE(files_below(folder_).empty());
}

// Runs in its own process, on its own 4 MB file system.
int on_a_small_disk(const std::string& folder, int (*body)(const std::string&)) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return kNoMount;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kNoMount;
  if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=4m") != 0) return kNoMount;
  return body(folder);
}

int stage_too_much(const std::string& folder) {
  auto blobs = open_file_blobs(folder, 0);
  const std::string much(8 << 20, 'x');
  const auto known = (*blobs)->begin(8 << 20);
  if (known || known.error().code != base::Code::kOverloaded) return 2;
  auto unknown = (*blobs)->begin(0);
  const auto written = (*unknown)->append(much);
  if (written || written.error().code != base::Code::kOverloaded) return 3;
  if (written.error().retry_after.count() <= 0) return 4;
  unknown->reset();
  return files_below(folder).empty() ? 0 : 5;
}

// Eight writers at once, each until it is refused: the minimum stays free.
int write_to_the_floor(const std::string& folder) {
  constexpr std::int64_t kFreeMin = 2 << 20;
  auto blobs = open_file_blobs(folder, kFreeMin);
  std::vector<std::unique_ptr<BlobWriter>> writers(8);
  for (auto& writer : writers) writer = *(*blobs)->begin(0);
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (auto& writer : writers) {
      threads.emplace_back([&writer, &refused] {
        const std::string piece(PieceWriter::kPieceBytes, 'x');
        base::Status written;
        while (written) written = writer->append(piece);
        refused += written.error().message.find("disk_free_min") != std::string::npos ? 1 : 0;
      });
    }
  }
  if (refused != 8) return 2;
  if (free_bytes(folder) < kFreeMin) return 3;
  if ((*blobs)->begin(1 << 20)) return 4;
  return (*blobs)->begin_reserved(1 << 20) ? 0 : 5;
}

base::Status insert_text(Tx& tx, const std::string& text) {
  tx.db
      .prepare(
          "INSERT INTO api_keys (id, mac, name, tenant, scopes, created_at) "
          "VALUES (hex(randomblob(8)), zeroblob(32), ?1, '', '', 0)")
      .bind(text)
      .run();
  return {};
}

// Fills the disk with commits. The commit that does not fit is refused; readers and the writer continue.
int commit_too_much(const std::string& folder) {
  base::SystemClock clock;
  auto store = opened(test_options(folder + "/data"), clock);
  const std::string text(100'000, 'x');
  base::Status last;
  for (int i = 0; i < 100 && last; ++i) {
    last = write(
        *store, [&](Tx& tx) { return insert_text(tx, text); }, Writer::Priority::kUrgent);
  }
  if (last || last.error().code != base::Code::kOverloaded) return 2;
  if (bumps(*store) != 0) return 3;
  const auto freed = write(
      *store,
      [](Tx& tx) -> base::Status {
        tx.db.prepare("DELETE FROM api_keys").run();
        return {};
      },
      Writer::Priority::kUrgent);
  return freed || freed.error().code == base::Code::kOverloaded ? 0 : 4;
}

// There is no space left for the log.
int open_on_full_disk(const std::string& folder) {
  base::SystemClock clock;
  if (!write(*opened(test_options(folder + "/data"), clock), bump)) return 2;
  std::ofstream(folder + "/much") << std::string(8 << 20, 'x');
  const auto full = Store::open(test_options(folder + "/data"), clock);
  if (full) return 3;
  const bool is_referenced =
      full.error().message.starts_with(folder + "/data: the disk is full: 0 bytes are free") &&
      full.error().message.ends_with("; free some space");
  return is_referenced ? 0 : 4;
}

// The file has another defect.
int open_what_is_no_database(const std::string& folder) {
  base::SystemClock clock;
  opened(test_options(folder + "/data"), clock);
  std::ofstream(folder + "/data/millrace.db") << std::string(4096, 'x');
  std::ofstream(folder + "/much") << std::string(8 << 20, 'x');
  const auto other = Store::open(test_options(folder + "/data"), clock);
  if (other) return 2;
  const std::string& told = other.error().message;
  return told.find("is not a millrace database") != std::string::npos &&
                 told.find("full") == std::string::npos
             ? 0
             : 3;
}

void expect_fine_on_a_small_disk(int (*body)(const std::string&)) {
  support::TempDir dir;
  OtherProcess other([&](auto&) { return on_a_small_disk(dir.str(), body); });
  const int code = other.wait();
  if (code == kNoMount) GTEST_SKIP() << "this user cannot mount a small disk";
  EXPECT_EQ(code, 0);
}

TEST(SmallDiskTest, ABlobThatDoesNotFitIsRefusedAndLeavesNothing) {
  expect_fine_on_a_small_disk(&stage_too_much);
}

TEST(SmallDiskTest, WritersTogetherLeaveTheMinimumFree) { expect_fine_on_a_small_disk(&write_to_the_floor); }

TEST(SmallDiskTest, AStoreThatHasNoSpaceToOpenReportsAFullDisk) {
  expect_fine_on_a_small_disk(&open_on_full_disk);
}

TEST(SmallDiskTest, AStoreThatCannotBeOpenedForAnotherReasonReportsThatReason) {
  expect_fine_on_a_small_disk(&open_what_is_no_database);
}

TEST(SmallDiskTest, ACommitThatMeetsEnospcIsRefusedAndTheProcessLives) {
  expect_fine_on_a_small_disk(&commit_too_much);
}

}  // namespace
}  // namespace millrace::storage

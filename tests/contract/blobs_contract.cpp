#include <filesystem>
#include <functional>
#include <set>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/clock.h"
#include "platform/base/fd.h"
#include "storage/blobs/blobs.h"
#include "storage/data_dir.h"
#include "storage/s3/s3_blobs.h"
#include "tests/support/s3_server.h"
#include "tests/support/temp_dir.h"

// Contract of Blobs. To test another implementation, add a line at the end.
namespace millrace::storage {
namespace {

using Factory = base::Result<std::unique_ptr<Blobs>> (*)(const std::string& folder,
                                                         std::int64_t disk_free_min_bytes);

struct Implementation {
  const char* name;
  Factory open;
};

constexpr std::int64_t kLater = std::int64_t{1} << 50;  // a wall time in ms after every other time

class BlobsContract : public testing::TestWithParam<Implementation> {
 protected:
  std::unique_ptr<Blobs> open(std::int64_t disk_free_min_bytes = 0) {
    auto opened = GetParam().open(dir_.str() + "/blobs", disk_free_min_bytes);
    EXPECT_TRUE(opened);
    return std::move(*opened);
  }
  Staged staged(const std::string& content, std::int64_t expected_bytes = 0) {
    auto writer = blobs_->begin(expected_bytes);
    EXPECT_TRUE(writer);
    EXPECT_TRUE((*writer)->append(content));
    auto done = (*writer)->finish();
    EXPECT_TRUE(done);
    return *done;
  }
  BlobRef set_referenced(const std::string& content) {
    const Staged blob = staged(content);
    blob->set_referenced(true);
    return blob->ref();
  }
  int collect(std::int64_t now_ms = kLater, std::int64_t age_ms = 0, int limit = 1'000) {
    const auto is_referenced = [](void* self, const std::string& path) {
      return static_cast<BlobsContract*>(self)->named_.count(path) > 0;
    };
    return blobs_->collect_orphans(now_ms, age_ms, limit, is_referenced, this);
  }

  std::int64_t bytes_on_disk() const {
    std::int64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.str())) {
      struct stat about {};
      if (::lstat(entry.path().c_str(), &about) == 0 && S_ISREG(about.st_mode))
        bytes += std::int64_t{about.st_blocks} * 512;
    }
    return bytes;
  }

  support::TempDir dir_;
  std::unique_ptr<Blobs> blobs_ = open();
  std::set<std::string> named_;
};

TEST_P(BlobsContract, WhatWasAppendedComesBackUnderItsHash) {
  auto writer = blobs_->begin(0);
  ASSERT_TRUE(writer);
  std::string all;
  for (int i = 0; i < 300; ++i) {
    const std::string piece(static_cast<std::size_t>(i * 37), static_cast<char>('a' + i % 26));
    ASSERT_TRUE((*writer)->append(piece));
    all += piece;
  }
  EXPECT_EQ((*writer)->bytes(), static_cast<std::int64_t>(all.size()));
  auto blob = (*writer)->finish();
  ASSERT_TRUE(blob);
  EXPECT_EQ((*blob)->ref().sha256_hex, base::hex(base::sha256(all)));
  EXPECT_EQ((*blob)->ref().bytes, static_cast<std::int64_t>(all.size()));
  EXPECT_EQ(blobs_->read((*blob)->ref()).value(), all);
}

TEST_P(BlobsContract, AnEmptyBlobIsABlob) { EXPECT_EQ(blobs_->read(set_referenced("")).value(), ""); }

TEST_P(BlobsContract, ABlobMayBeShorterOrLongerThanExpected) {
  const std::string content(3 << 20, 'x');
  for (const std::int64_t expected : {std::int64_t{5} << 20, std::int64_t{1} << 20}) {
    const Staged blob = staged(content, expected);
    EXPECT_EQ(blob->ref().bytes, static_cast<std::int64_t>(content.size()));
    EXPECT_EQ(blobs_->read(blob->ref()).value(), content);
    const auto file = blob->open();
    ASSERT_TRUE(file);
    EXPECT_EQ(::lseek(file->fd(), 0, SEEK_END), static_cast<off_t>(content.size()));
  }
}

TEST_P(BlobsContract, ALargeBlobComesBackWholeWhateverItsLength) {
  constexpr std::size_t kLarge = 9 << 20;
  for (const std::size_t size : {kLarge, kLarge + 1, kLarge + 4096 + 7}) {
    std::string content(size, '\0');
    for (std::size_t i = 0; i < size; i += 97) content[i] = static_cast<char>(i >> 8);
    const Staged blob = staged(content, static_cast<std::int64_t>(size));
    EXPECT_EQ(blob->ref().bytes, static_cast<std::int64_t>(size));
    EXPECT_TRUE(blobs_->read(blob->ref()).value() == content);
  }
}

TEST_P(BlobsContract, EveryStagingHasAPathOfItsOwn) {
  const BlobRef first = set_referenced("same");
  const BlobRef second = set_referenced("same");
  EXPECT_EQ(first.sha256_hex, second.sha256_hex);
  EXPECT_NE(first.path, second.path);
  blobs_->unlink(first.path);
  EXPECT_EQ(blobs_->read(first).error().code, base::Code::kStoredDamaged);
  EXPECT_EQ(blobs_->read(second).value(), "same");
}

TEST_P(BlobsContract, AStagedBlobThatNoRowNamesGoes) {
  BlobRef dropped, refused;
  dropped = staged("a")->ref();
  EXPECT_EQ(blobs_->open(dropped).error().code, base::Code::kStoredDamaged);
  {
    const Staged blob = staged("b");
    blob->set_referenced(false);
    refused = blob->ref();
    EXPECT_EQ(blobs_->read(refused).value(), "b") << "readable until it is released";
  }
  EXPECT_FALSE(blobs_->open(refused));
  EXPECT_EQ(blobs_->read(set_referenced("c")).value(), "c");
}

TEST_P(BlobsContract, ClaimedBlobsOutliveTheProcessThatWroteThem) {
  const BlobRef ref = set_referenced("kept");
  blobs_ = open();
  EXPECT_EQ(blobs_->read(ref).value(), "kept");
}

TEST_P(BlobsContract, AWriterThatIsDroppedLeavesNothing) {
  { ASSERT_TRUE((*blobs_->begin(1 << 20))->append("half")); }
  EXPECT_EQ(collect(), 0);
}

TEST_P(BlobsContract, WhatIsAnnouncedTakesNoSpaceBeforeItArrives) {
  constexpr std::int64_t kMiB = 1 << 20;
  const auto writer = blobs_->begin(64 * kMiB).value();
  ASSERT_TRUE(writer->append("a"));
  EXPECT_LE(bytes_on_disk(), 2 * kMiB);
  ASSERT_TRUE(writer->append(std::string(4 * kMiB, 'b')));
  EXPECT_LE(bytes_on_disk(), 10 * kMiB);
}

// Other programs write to this disk and delete: the margin is larger than what they do in the time of this
// test.
TEST_P(BlobsContract, ABlobThatGrowsStopsAtTheFreeSpaceOfTheDisk) {
  constexpr std::int64_t kMargin = 512 << 20;
  blobs_ = open(free_bytes(dir_.str()) - kMargin);
  const auto unknown = blobs_->begin(0).value(), announced = blobs_->begin(1).value();
  const base::Fd filler(::open((dir_.path() / "filler").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::posix_fallocate(filler.get(), 0, 2 * kMargin), 0);
  for (const auto* writer : {&unknown, &announced}) {
    base::Status written;
    for (int i = 0; i < 64 && written; ++i) written = (*writer)->append(std::string(1 << 20, 'x'));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, base::Code::kOverloaded);
    EXPECT_NE(written.error().message.find("store.disk_free_min"), std::string::npos);
  }
}

TEST_P(BlobsContract, AWriterIsSpentAfterFinish) {
  auto writer = blobs_->begin(0);
  ASSERT_TRUE(writer);
  const auto blob = (*writer)->finish();
  ASSERT_TRUE(blob);
  EXPECT_FALSE((*writer)->finish());
}

TEST_P(BlobsContract, OrphansThatNoRowNamesAreCollected) {
  const BlobRef kept = set_referenced("kept"), orphan = set_referenced("orphan");
  named_.insert(kept.path);
  EXPECT_EQ(collect(), 1);
  EXPECT_TRUE(blobs_->open(kept));
  EXPECT_FALSE(blobs_->open(orphan));
}

TEST_P(BlobsContract, YoungOrphansAreLeft) {
  const BlobRef orphan = set_referenced("young");
  const std::int64_t now_ms = base::millis(base::SystemClock().wall());
  EXPECT_EQ(collect(now_ms, 60'000), 0);
  EXPECT_EQ(collect(now_ms + 120'000, 60'000), 1);
}

TEST_P(BlobsContract, WhatIsStillHeldIsNoOrphanWhateverItsAge) {
  auto arriving = blobs_->begin(0);
  const Staged held = staged("held");
  EXPECT_EQ(collect(), 0);
  EXPECT_TRUE(blobs_->open(held->ref()));
  EXPECT_TRUE((*arriving)->finish());
}

TEST_P(BlobsContract, CollectingGoesOnWhereItStopped) {
  for (int i = 0; i < 20; ++i) set_referenced("orphan " + std::to_string(i));
  int removed = 0;
  for (int calls = 0; calls < 10; ++calls) {
    const int now = collect(kLater, 0, 4);
    EXPECT_LE(now, 4);
    removed += now;
  }
  EXPECT_EQ(removed, 20);
}

TEST_P(BlobsContract, WhatWouldLeaveLessThanTheDiskMinimumIsRefusedBeforeAByte) {
  blobs_ = open(1);
  EXPECT_TRUE(blobs_->begin(1 << 20));
  const auto refused = blobs_->begin(std::int64_t{1} << 60);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::Code::kOverloaded);
  EXPECT_NE(refused.error().message.find("disk_free_min"), std::string::npos);
  EXPECT_GT(refused.error().retry_after.count(), 0);
}

TEST_P(BlobsContract, WhatAcceptedWorkWritesIsTakenBelowTheDiskMinimum) {
  blobs_ = open(std::int64_t{1} << 60);
  ASSERT_FALSE(blobs_->begin(0));
  auto writer = blobs_->begin_reserved(5);
  ASSERT_TRUE(writer);
  ASSERT_TRUE((*writer)->append("hello"));
  EXPECT_EQ(blobs_->read((*writer)->finish().value()->ref()).value(), "hello");
}

// On the shared server; the objects of each folder have a prefix of their own.
base::Result<std::unique_ptr<Blobs>> open_s3(const std::string& folder, std::int64_t disk_free_min_bytes) {
  const std::string prefix = base::hex(base::sha256(folder)).substr(0, 16);
  s3::Options options{
      .location =
          s3::parse_location("s3://" + std::string(support::kS3Bucket) + "/" + prefix, support::shared_s3())
              .value(),
      .credentials = {"us-east-1", base::Secret(support::kS3AccessKey), base::Secret(support::kS3SecretKey)},
      .orphan_age_min = std::chrono::milliseconds(0)};
  return s3::open_s3_blobs(folder, disk_free_min_bytes, std::move(options));
}

INSTANTIATE_TEST_SUITE_P(Implementations, BlobsContract,
                         testing::Values(Implementation{"Files", &open_file_blobs},
                                         Implementation{"S3", &open_s3}),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
}  // namespace millrace::storage

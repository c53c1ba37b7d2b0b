#include "storage/s3/blob_cache.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/base/crypto.h"
#include "tests/support/temp_dir.h"

namespace millrace::s3::blob_cache_test {
namespace {

namespace fs = std::filesystem;
using storage::BlobRef;
using storage::OpenFile;

constexpr std::int64_t kBound = 10'000;

class BlobCacheTest : public testing::Test {
 protected:
  std::unique_ptr<BlobCache> open_cache(std::int64_t bytes_max = kBound) {
    return BlobCache::open({.folder = folder_, .bytes_max = bytes_max, .disk_free_min_bytes = 0}).value();
  }
  static std::string content(char c, std::size_t bytes = 3'000) { return std::string(bytes, c); }
  static BlobRef ref_of(const std::string& bytes) {
    const std::string sha = base::hex(base::sha256(bytes));
    return {sha, sha.substr(0, 2) + "/" + sha + "-1", static_cast<std::int64_t>(bytes.size())};
  }
  // Fetches `bytes` and counts that.
  BlobCache::Fetch fetches(const std::string& bytes) {
    return [this, bytes](int file) -> base::Status {
      ++fetched_;
      EXPECT_EQ(::pwrite(file, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
      return {};
    };
  }
  base::Result<OpenFile> open(const std::string& bytes) {
    return cache_->open(ref_of(bytes), fetches(bytes));
  }
  static std::string text_of(const OpenFile& file) {
    std::string text(64 * 1024, '\0');
    const ssize_t got = ::pread(file.fd(), text.data(), text.size(), 0);
    return text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  // Of all copies and files that are being fetched.
  std::int64_t bytes_on_disk() const {
    std::int64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.is_regular_file() && entry.path().filename() != "total")
        bytes += static_cast<std::int64_t>(entry.file_size());
    }
    return bytes;
  }
  bool has_copy(const std::string& bytes) const { return fs::exists(folder_ + "/" + ref_of(bytes).path); }

  support::TempDir dir_;
  const std::string folder_ = dir_.str() + "/cache";
  std::unique_ptr<BlobCache> cache_ = open_cache();
  std::atomic<int> fetched_{0};
};

TEST_F(BlobCacheTest, WhatWasFetchedIsNotFetchedAgain) {
  EXPECT_EQ(text_of(*open(content('a'))), content('a'));
  EXPECT_EQ(text_of(*open(content('a'))), content('a'));
  EXPECT_EQ(fetched_, 1);
  cache_ = open_cache();
  EXPECT_EQ(text_of(*open(content('a'))), content('a'));
  EXPECT_EQ(fetched_, 1) << "after a restart, too";
}

TEST_F(BlobCacheTest, ItNeverGrowsAboveItsBound) {
  for (char c = 'a'; c <= 'z'; ++c) {
    ASSERT_TRUE(open(content(c)));
    EXPECT_LE(bytes_on_disk(), kBound) << c;
  }
  EXPECT_TRUE(has_copy(content('z')));
  EXPECT_FALSE(has_copy(content('a')));
}

TEST_F(BlobCacheTest, TheLeastRecentlyOpenedCopyGoesFirst) {
  for (const char c : {'a', 'b', 'c'}) ASSERT_TRUE(open(content(c)));
  ASSERT_TRUE(open(content('a')));
  ASSERT_TRUE(open(content('d')));
  EXPECT_TRUE(has_copy(content('a')));
  EXPECT_FALSE(has_copy(content('b')));
}

TEST_F(BlobCacheTest, ALowerBoundIsKeptFromTheStart) {
  for (const char c : {'a', 'b', 'c'}) ASSERT_TRUE(open(content(c)));
  cache_ = open_cache(4'000);
  EXPECT_LE(bytes_on_disk(), 4'000);
  EXPECT_TRUE(has_copy(content('c')));
}

TEST_F(BlobCacheTest, ProcessesThatShareTheFolderKeepTheBoundTogether) {
  const auto other = open_cache();
  for (char c = 'a'; c <= 'l'; ++c) {
    ASSERT_TRUE((c % 2 ? *cache_ : *other).open(ref_of(content(c)), fetches(content(c))));
    EXPECT_LE(bytes_on_disk(), kBound) << c;
  }
}

TEST_F(BlobCacheTest, AnOpenFileStaysReadableAfterItsCopyIsGone) {
  const OpenFile file = *open(content('a'));
  for (const char c : {'b', 'c', 'd', 'e'}) ASSERT_TRUE(open(content(c)));
  ASSERT_FALSE(has_copy(content('a')));
  EXPECT_EQ(text_of(file), content('a'));
}

TEST_F(BlobCacheTest, ADamagedCopyIsFetchedAgain) {
  ASSERT_TRUE(open(content('a')));
  const std::string path = folder_ + "/" + ref_of(content('a')).path;
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1'000).put('X');
  }
  EXPECT_EQ(text_of(*open(content('a'))), content('a'));
  EXPECT_EQ(fetched_, 2);
  fs::resize_file(path, 10);
  EXPECT_EQ(text_of(*open(content('a'))), content('a'));
  EXPECT_EQ(fetched_, 3);
}

TEST_F(BlobCacheTest, ACopyThatWasDamagedBetweenTwoRunsIsFetchedAgain) {
  ASSERT_TRUE(open(content('a')));
  cache_.reset();
  std::ofstream(folder_ + "/" + ref_of(content('a')).path, std::ios::binary) << content('b');
  cache_ = open_cache();
  EXPECT_EQ(text_of(*open(content('a'))), content('a'));
  EXPECT_EQ(fetched_, 2);
}

TEST_F(BlobCacheTest, AnObjectWithAnotherContentIsNeverOpened) {
  for (const std::string& wrong : {content('b'), content('a', 3'001), std::string(), content('b', 2'999)}) {
    const auto refused = cache_->open(ref_of(content('a')), fetches(wrong));
    ASSERT_FALSE(refused) << wrong.size();
    EXPECT_EQ(refused.error().code, base::Code::kStoredDamaged);
  }
  EXPECT_EQ(bytes_on_disk(), 0);
}

TEST_F(BlobCacheTest, AFetchThatFailsLeavesNothingAndTakesNoSpace) {
  const BlobCache::Fetch fails = [](int file) -> base::Status {
    EXPECT_EQ(::pwrite(file, "half", 4, 0), 4);
    return base::error(base::Code::kOverloaded, "the server is gone");
  };
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(cache_->open(ref_of(content('a')), fails).error().message, "the server is gone");
  EXPECT_EQ(bytes_on_disk(), 0);
  for (const char c : {'b', 'c', 'd'}) ASSERT_TRUE(open(content(c)));
  EXPECT_TRUE(has_copy(content('b'))) << "the failed fetches do not count";
}

TEST_F(BlobCacheTest, ABlobAboveTheBoundIsFetchedForTheCallAlone) {
  ASSERT_TRUE(open(content('a')));
  const std::string large = content('L', kBound + 1);
  const OpenFile file = *open(large);
  EXPECT_EQ(text_of(file), large);
  EXPECT_FALSE(has_copy(large));
  EXPECT_TRUE(has_copy(content('a')));
}

TEST_F(BlobCacheTest, ConcurrentOpensFetchOnce) {
  std::promise<void> may_end;
  const auto wait = may_end.get_future().share();
  const BlobCache::Fetch slow = [&, fetch = fetches(content('a'))](int file) {
    wait.wait();
    return fetch(file);
  };
  std::atomic<int> right{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto file = cache_->open(ref_of(content('a')), slow);
      if (file && text_of(*file) == content('a')) ++right;
    });
  }
  may_end.set_value();
  threads.clear();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(fetched_, 1);
}

TEST_F(BlobCacheTest, ConcurrentOpensOfMoreThanFitAllReadTheirBlob) {
  std::atomic<int> right{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 50; ++round) {
        const std::string bytes = content(static_cast<char>('a' + (round * 7 + i) % 9));
        const auto file = open(bytes);
        if (file && text_of(*file) == bytes) ++right;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(right, 200);
  EXPECT_LE(bytes_on_disk(), kBound);
}

TEST_F(BlobCacheTest, WhatIsAddedNeedsNoFetch) {
  const auto file = dir_.write("staged", content('a'));
  cache_->add(ref_of(content('a')), file.string());
  fs::remove(file);
  EXPECT_EQ(text_of(*open(content('a'))), content('a'));
  EXPECT_EQ(fetched_, 0);
}

TEST_F(BlobCacheTest, AWipedFolderIsFilledAgain) {
  ASSERT_TRUE(open(content('a')));
  cache_.reset();
  fs::remove_all(folder_);
  cache_ = open_cache();
  EXPECT_EQ(text_of(*open(content('a'))), content('a'));
  EXPECT_EQ(fetched_, 2);
}

TEST_F(BlobCacheTest, ItMakesRoomForNewWork) {
  for (const char c : {'a', 'b', 'c'}) ASSERT_TRUE(open(content(c)));
  EXPECT_FALSE(cache_->make_room(0)) << "the disk has space";
  EXPECT_TRUE(cache_->make_room(std::int64_t{1} << 60));
  EXPECT_EQ(bytes_on_disk(), 0);
  EXPECT_FALSE(cache_->make_room(std::int64_t{1} << 60)) << "nothing is left to remove";
}

TEST_F(BlobCacheTest, ItKeepsTwiceTheMinimumOfTheDiskFree) {
  cache_ =
      BlobCache::open({.folder = folder_, .bytes_max = kBound, .disk_free_min_bytes = std::int64_t{1} << 60})
          .value();
  EXPECT_EQ(text_of(*open(content('a'))), content('a'));
  EXPECT_FALSE(has_copy(content('a')));
}

}  // namespace
}  // namespace millrace::s3::blob_cache_test

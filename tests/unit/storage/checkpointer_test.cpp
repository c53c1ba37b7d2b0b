#include "storage/sqlite/checkpointer.h"

#include <future>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "storage/data_dir.h"
#include "storage/sqlite/database.h"
#include "storage/writer/fair_write_lock.h"
#include "storage/writer/last_commit.h"
#include "storage/writer/lock_file.h"
#include "storage/writer/readers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"
#include "tests/unit/storage/opened_store.h"

namespace millrace::storage {
namespace {

using std::chrono::milliseconds;
using support::wait_until;

constexpr std::int64_t kWalMax = 256 * 1024;
constexpr int kWritesMax = 20'000;  // how long to wait for the checkpointer

// Keeps a read transaction open for its lifetime.
class ReaderInTheWay {
 public:
  explicit ReaderInTheWay(Store& store)
      : thread_([this, &store] {
          EXPECT_TRUE(store.readers().read([&](Db& db) {
            db.prepare("SELECT count(*) FROM access_version").run();
            reading_.set_value();
            enough_.get_future().wait();
          }));
        }) {
    reading_.get_future().wait();
  }
  ~ReaderInTheWay() { enough_.set_value(); }

 private:
  std::promise<void> reading_, enough_;
  std::jthread thread_;
};

// The first in line for the write lock holds this file.
std::string write_lock_line(const DataDir& dir) { return dir.locks + "/next.lock"; }

bool is_locked(LockFile& file) {
  if (!file.try_lock(LockFile::Mode::kShared)) return true;
  file.unlock();
  return false;
}

class CheckpointTest : public ::testing::Test {
 protected:
  CheckpointTest() { open_with(test_options(dir_.str()).checkpoint_interval); }
  void open_with(milliseconds interval) {
    store_.reset();
    Store::Options options = test_options(dir_.str());
    options.wal_max_bytes = kWalMax;
    options.checkpoint_interval = interval;
    store_ = opened(options, clock_);
  }
  std::uint64_t checkpoints() { return store_->stats().checkpoints_total; }
  void write_much(int times = 40) {
    const std::string text(20'000, 'x');
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(write(*store_, [&](Tx& tx) -> base::Status {
        tx.db.prepare("UPDATE access_version SET version = version + 1").run();
        tx.db
            .prepare(
                "INSERT INTO api_keys (id, mac, name, tenant, scopes, created_at) "
                "VALUES (hex(randomblob(8)), zeroblob(32), ?1, '', '', 0)")
            .bind(text)
            .run();
        return {};
      }));
    }
  }

  support::TempDir dir_;
  base::SystemClock clock_;
  std::unique_ptr<Store> store_;
};

TEST_F(CheckpointTest, ACommitIsCopiedIntoTheDatabaseSoonAfter) {
  const auto before = checkpoints();
  ASSERT_TRUE(write(*store_, bump));
  EXPECT_TRUE(wait_until([&] { return checkpoints() > before; }));
}

TEST_F(CheckpointTest, ALogOfFourTimesItsLimitIsCutToNothing) {
  auto elsewhere = LockFile::open(dir_.str() + "/locks/checkpoint.lock");
  ASSERT_TRUE(elsewhere);
  ASSERT_TRUE(elsewhere->lock(LockFile::Mode::kExclusive));
  write_much();
  EXPECT_GT(store_->stats().wal_bytes, kWalMax);
  elsewhere->unlock();
  EXPECT_TRUE(wait_until([&] { return store_->stats().wal_restarts_total == 1; }));
  EXPECT_EQ(store_->stats().wal_bytes, 0);
}

TEST_F(CheckpointTest, PastItsLimitTheLogRestarts) {
  auto elsewhere = LockFile::open(dir_.str() + "/locks/checkpoint.lock");
  ASSERT_TRUE(elsewhere);
  ASSERT_TRUE(elsewhere->lock(LockFile::Mode::kExclusive));
  while (store_->stats().wal_bytes <= kWalMax) write_much(1);
  const std::int64_t length = store_->stats().wal_bytes;
  ASSERT_LT(length, 4 * kWalMax);
  elsewhere->unlock();
  ASSERT_TRUE(wait_until([&] { return store_->stats().wal_restarts_total == 1; }));
  write_much(2);
  EXPECT_EQ(store_->stats().wal_bytes, length);
}

TEST_F(CheckpointTest, AReaderInTheWayHoldsNoWriterUp) {
  std::optional<ReaderInTheWay> reader(std::in_place, *store_);
  const auto restarts = store_->stats().wal_restarts_total;
  write_much();
  EXPECT_EQ(store_->stats().wal_restarts_total, restarts) << "the checkpointer gives up";
  EXPECT_LT(store_->stats().commit_seconds_max, 5.0) << "it must not wait for SQLite's busy time-out";
  reader.reset();
  ASSERT_TRUE(write(*store_, bump));
  EXPECT_TRUE(wait_until([&] { return store_->stats().wal_bytes <= kWalMax; }));
}

TEST_F(CheckpointTest, ALongLogRestartsWithoutWaitingForTheInterval) {
  open_with(std::chrono::hours(1));
  for (std::uint64_t restarts = 1; restarts <= 3; ++restarts) {
    for (int i = 0; i < kWritesMax && store_->stats().wal_restarts_total < restarts; ++i) write_much(1);
    ASSERT_GE(store_->stats().wal_restarts_total, restarts);
  }
}

TEST_F(CheckpointTest, ALongLogThatAReaderKeepsIsTriedAgainOnlyAnIntervalLater) {
  open_with(std::chrono::hours(1));
  const ReaderInTheWay reader(*store_);
  const auto before = checkpoints();
  while (checkpoints() == before) write_much(1);
  write_much();
  EXPECT_EQ(checkpoints(), before + 1);
}

TEST_F(CheckpointTest, AnIdleStoreDoesNotCheckpoint) {
  ASSERT_TRUE(write(*store_, bump));
  ASSERT_TRUE(wait_until([&] { return checkpoints() > 0; }));
  const auto settled = checkpoints();
  EXPECT_FALSE(wait_until([&] { return checkpoints() > settled + 1; }, milliseconds(200)));
}

TEST_F(CheckpointTest, OneProcessCheckpointsAndAnotherTakesOverWhenItIsGone) {
  auto elsewhere = LockFile::open(dir_.str() + "/locks/checkpoint.lock");
  ASSERT_TRUE(elsewhere);
  ASSERT_TRUE(elsewhere->lock(LockFile::Mode::kExclusive));
  const auto before = checkpoints();
  ASSERT_TRUE(write(*store_, bump));
  EXPECT_FALSE(wait_until([&] { return checkpoints() > before; }, milliseconds(200)));
  elsewhere->unlock();
  EXPECT_TRUE(wait_until([&] { return checkpoints() > before; }));
}

// A commit that only the TRUNCATE copies, because it comes while the checkpointer waits for the write lock.
TEST(Checkpointer, ALogThatItHasCutToNothingIsRecordedAsCopied) {
  const support::TempDir dir;
  const base::SystemClock clock;
  opened(test_options(dir.str()), clock)->close();
  const DataDir data(dir.str());
  LastCommit last(data.locks);
  const auto write_lock = FairWriteLock::open(data.locks).value();
  auto line = LockFile::open(write_lock_line(data)).value();
  SqliteDb db({.path = data.database});
  const auto commit = [&] {
    db.execute("UPDATE access_version SET version = version + 1");
    last.record(db, clock.wall());
  };
  ASSERT_TRUE(write_lock->acquire());
  while (file_bytes(data.database + "-wal") <= 4 * kWalMax) commit();
  const auto checkpointer =
      Checkpointer::open({data.database, data.locks, kWalMax, std::chrono::hours(1)}, last).value();
  checkpointer->committed(db.log_frames());
  ASSERT_TRUE(wait_until([&] { return is_locked(line); })) << "it waits for the write lock";
  commit();
  write_lock->release();
  ASSERT_TRUE(wait_until([&] { return checkpointer->counts().restarts == 1; }));
  EXPECT_EQ(file_bytes(data.database + "-wal"), 0);
  EXPECT_FALSE(find_missing_commits(data).value());
}

}  // namespace
}  // namespace millrace::storage

#include "storage/writer/fair_write_lock.h"

#include <atomic>
#include <csignal>
#include <filesystem>
#include <future>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"
#include "tests/unit/storage/opened_store.h"
#include "tests/unit/storage/other_process.h"

namespace millrace::storage {
namespace {

using support::wait_until;

std::unique_ptr<FairWriteLock> write_lock(const std::string& folder) {
  auto opened = FairWriteLock::open(folder);
  EXPECT_TRUE(opened);
  return std::move(*opened);
}

// Another process that acquires the write lock, reports it, and releases it on request.
int hold_lock(const std::string& folder, OtherProcess::Line& line) {
  auto mine = write_lock(folder);
  if (!mine->acquire()) return 2;
  line.send('h');
  line.receive();
  mine->release();
  line.send('r');
  line.receive();
  return 0;
}

class FairWriteLockTest : public ::testing::Test {
 protected:
  support::TempDir dir_;
};

TEST_F(FairWriteLockTest, TheReleasingProcessCannotOvertakeAWaitingOne) {
  auto first = write_lock(dir_.str());
  auto second = write_lock(dir_.str());
  ASSERT_TRUE(first->acquire());
  std::atomic<int> passed{0};  // sanitizers do not know that flock orders threads
  int second_was = 0;
  std::jthread waiter([&] {
    ASSERT_TRUE(second->acquire());
    second_was = ++passed;
    second->release();
  });
  // It waits for the second lock as soon as no process holds the first one.
  ASSERT_TRUE(wait_until(
      [&] { return second->waiting() && second->holder().find("first in line") == std::string::npos; }));
  first->release();
  ASSERT_TRUE(first->acquire());
  EXPECT_EQ(++passed, 2);
  first->release();
  waiter.join();
  EXPECT_EQ(second_was, 1);
}

TEST_F(FairWriteLockTest, TheLockFileNamesItsHolder) {
  OtherProcess other([&](auto& line) { return hold_lock(dir_.str(), line); });
  ASSERT_EQ(other.line().receive(), 'h');
  const std::string holder = write_lock(dir_.str())->holder();
  EXPECT_NE(holder.find("pid " + std::to_string(other.pid())), std::string::npos) << holder;
  EXPECT_NE(holder.find("pid namespace "), std::string::npos) << holder;
  EXPECT_NE(holder.find("host "), std::string::npos) << holder;
}

TEST_F(FairWriteLockTest, TheLockOfAKilledProcessIsFree) {
  OtherProcess other([&](auto& line) { return hold_lock(dir_.str(), line); });
  ASSERT_EQ(other.line().receive(), 'h');
  other.signal(SIGKILL);
  EXPECT_EQ(other.wait(), -SIGKILL);
  auto mine = write_lock(dir_.str());
  EXPECT_TRUE(mine->acquire());
}

TEST_F(FairWriteLockTest, ShutdownFreesAWriterThatIsBlocked) {
  auto holder = write_lock(dir_.str());
  auto blocked = write_lock(dir_.str());
  ASSERT_TRUE(holder->acquire());
  auto acquired = std::async(std::launch::async, [&] { return blocked->acquire(); });
  ASSERT_TRUE(wait_until([&] { return blocked->waiting().has_value(); }));
  blocked->interrupt();
  EXPECT_FALSE(acquired.get());
  EXPECT_FALSE(blocked->acquire()) << "the interruption is permanent";
  holder->release();
  EXPECT_TRUE(holder->acquire()) << "no lock was left behind";
}

TEST_F(FairWriteLockTest, NoDescriptorOfTheStoreIsInheritedByChildren) {
  base::SystemClock clock;
  auto store = opened(test_options(dir_.str()), clock);
  auto writer = store->blobs().begin(10);
  ASSERT_TRUE(writer);
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.rfind(dir_.str() + "/", 0) != 0) continue;
    ++seen;
    EXPECT_NE(::fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC, 0) << target;
  }
  EXPECT_GE(seen, 8);
}

class StuckLockTest : public ::testing::Test {
 protected:
  StuckLockTest() {
    std::filesystem::create_directories(dir_.str() + "/locks");
    other_ =
        std::make_unique<OtherProcess>([this](auto& line) { return hold_lock(dir_.str() + "/locks", line); });
    EXPECT_EQ(other_->line().receive(), 'h');
    other_->stop();
    store_ = opened(test_options(dir_.str()), clock_);
  }

  support::TempDir dir_;
  base::SystemClock clock_;
  std::unique_ptr<OtherProcess> other_;
  std::unique_ptr<Store> store_;
};

TEST_F(StuckLockTest, AStoppedHolderMakesOthersDegradedAndIsNamedAndTheyRecover) {
  std::promise<base::Status> finish;
  store_->writer().submit(Writer::Priority::kUrgent, 0, bump,
                          [&](base::Status s) { finish.set_value(std::move(s)); });
  const auto withdrawn = write(*store_, bump);
  ASSERT_FALSE(withdrawn);
  EXPECT_EQ(withdrawn.error().code, base::Code::kOverloaded);
  EXPECT_GT(withdrawn.error().retry_after.count(), 0);
  const Store::Health health = store_->health();
  EXPECT_FALSE(health.store_ok);
  EXPECT_NE(health.store_detail.find("pid " + std::to_string(other_->pid()) + ","), std::string::npos)
      << health.store_detail;
  EXPECT_FALSE(write(*store_, bump)) << "refused without waiting";

  other_->signal(SIGCONT);
  other_->line().send('g');
  EXPECT_TRUE(finish.get_future().get()) << "an urgent operation waits";
  EXPECT_TRUE(store_->health().store_ok);
  EXPECT_TRUE(write(*store_, bump));
}

TEST_F(StuckLockTest, AStoreThatWaitsForAStoppedHolderCanBeClosed) {
  std::promise<base::Status> finish;
  store_->writer().submit(Writer::Priority::kUrgent, 0, bump,
                          [&](base::Status s) { finish.set_value(std::move(s)); });
  ASSERT_TRUE(wait_until([&] { return !store_->health().store_ok; }));
  store_->close();
  EXPECT_EQ(finish.get_future().get().error().code, base::Code::kOverloaded);
}

}  // namespace
}  // namespace millrace::storage

#include "workers/jobs/worker_lock.h"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/workers/worker_fixture.h"

namespace millrace::workers {
namespace {

using std::chrono::milliseconds;

// A separate process that holds a worker's lock until it is killed, as a worker process does.
class OtherWorker {
 public:
  explicit OtherWorker(const std::string& lock_path) {
    std::string program = "flock", no_fork = "-F", path = lock_path, command = "sleep", seconds = "1000";
    std::array<char*, 6> args{program.data(), no_fork.data(), path.data(),
                              command.data(), seconds.data(), nullptr};
    started_ = ::posix_spawnp(&pid_, "flock", nullptr, nullptr, args.data(), environ) == 0;
  }
  ~OtherWorker() { kill(); }
  void kill() {
    if (!std::exchange(started_, false)) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  // True if a signal from elsewhere ended it.
  bool was_killed() {
    int status = 0;
    started_ = started_ && ::waitpid(pid_, &status, WNOHANG) != pid_;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  bool started_ = false;
};

std::string lock_path(const support::TempDir& dir, const std::string& name) {
  std::filesystem::create_directories(dir.path() / "workers");
  return (dir.path() / "workers" / (name + ".lock")).string();
}

bool is_held(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return false;
  const bool held = ::flock(fd, LOCK_EX | LOCK_NB) != 0;
  ::close(fd);
  return held;
}

TEST(WorkerLock, AKilledWorkersJobRunsAgainLongBeforeItsLeaseIsOver) {
  WorkerFixture fixture({.with_worker = false, .with_maintenance = true});
  const std::string path = lock_path(fixture.dir, "victim");
  OtherWorker victim(path + ".new");
  ASSERT_TRUE(support::wait_until([&] { return is_held(path + ".new"); }));
  // The file appears with its lock held, because maintenance checks these files all the time.
  std::filesystem::rename(path + ".new", path);
  const auto job = fixture.submit();
  Answer<std::vector<storage::ClaimedJob>> claimed;
  storage::JobClaims(*fixture.store)
      .claim({.kind = schemas::Kind::kOcr, .worker = "victim", .lease = milliseconds(600'000)},
             claimed.take());
  ASSERT_EQ(claimed.wait()->size(), 1U);
  fixture.worker = fixture.make_worker(fixture.script);
  victim.kill();
  const auto again = fixture.script.attempt(0);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->job.lease.job, job);
  EXPECT_EQ(again->job.losses, 1);
  fixture.script.end(again, Succeeded{});
  EXPECT_TRUE(support::wait_until([&] { return !std::filesystem::exists(path); }));
}

TEST(WorkerLock, ALiveWorkersLockIsLeftAlone) {
  support::TempDir dir;
  auto lock = WorkerLock::take(dir.str(), {.worker = "alive"}, "boot-1");
  ASSERT_TRUE(lock);
  EXPECT_TRUE(WorkerLock::dead(dir.str()).empty());
  EXPECT_EQ(lock->name(), "alive");
}

TEST(WorkerLock, ARemovedLockLeavesNoFile) {
  support::TempDir dir;
  auto lock = WorkerLock::take(dir.str(), {.worker = "done"}, "boot-1");
  ASSERT_TRUE(lock);
  lock->remove();
  EXPECT_TRUE(WorkerLock::dead(dir.str()).empty());
  EXPECT_TRUE(std::filesystem::is_empty(dir.path() / "workers"));
}

TEST(WorkerLock, ANameThatIsNoFileNameIsRefused) {
  support::TempDir dir;
  EXPECT_FALSE(WorkerLock::take(dir.str(), {.worker = "../escape"}, "boot-1"));
  EXPECT_FALSE(WorkerLock::take(dir.str(), {.worker = ".hidden"}, "boot-1"));
}

// Writes the lock file's line as that process would write it.
void write_line(const std::string& path, const ProcessIdentity& process) {
  std::ofstream file(path);
  struct stat about {};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  file << process.str() << " file " << about.st_dev << ":" << about.st_ino << "\n";
}

TEST(WorkerLock, OrphansAreKilledOnlyIfTheirIdentityMatches) {
  support::TempDir dir;
  const std::string path = lock_path(dir, "left");
  OtherWorker leftover(dir.str() + "/unrelated.lock");
  const ProcessIdentity same = ProcessIdentity::of(leftover.pid(), "boot-1");
  ProcessIdentity successor = same;
  successor.started_ticks += 1;
  EXPECT_FALSE(successor.kill_if_same("boot-1"));
  EXPECT_FALSE(same.kill_if_same("boot-2"));
  ProcessIdentity elsewhere = same;
  elsewhere.pid_namespace += 1;
  EXPECT_FALSE(elsewhere.kill_if_same("boot-1"));
  write_line(path, same);
  auto lock = WorkerLock::take(dir.str(), {.worker = "left"}, "boot-1");
  ASSERT_TRUE(lock);
  EXPECT_TRUE(support::wait_until([&] { return leftover.was_killed(); }));
}

// The data directory was copied while its gateway keeps running.
TEST(WorkerLock, TheProcessesOfACopiedFolderAreLeftAlone) {
  support::TempDir dir, copy;
  const std::string path = lock_path(dir, "left");
  OtherWorker original(dir.str() + "/unrelated.lock");
  write_line(path, ProcessIdentity::of(original.pid(), "boot-1"));
  std::filesystem::copy(dir.path() / "workers", copy.path() / "workers");
  ASSERT_TRUE(WorkerLock::take(copy.str(), {.worker = "left"}, "boot-1"));
  EXPECT_FALSE(original.was_killed());
}

TEST(WorkerLock, AProcessIsReadBackAsItWasWritten) {
  const ProcessIdentity self = ProcessIdentity::of(::getpid(), "boot-1");
  EXPECT_EQ(ProcessIdentity::parse(self.str()), self);
  EXPECT_FALSE(ProcessIdentity::parse("pid 12, pid namespace 4"));
  EXPECT_FALSE(self.kill_if_same("boot-1")) << "a process must not kill itself";
}

}  // namespace
}  // namespace millrace::workers

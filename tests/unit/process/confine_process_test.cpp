#include "platform/process/confine_process.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/process/engine_filter.h"
#include "tests/support/temp_dir.h"

namespace millrace::process {
namespace {

constexpr std::string_view kSecret = "a secret of this user";

// The permissions of a thread after it has confined itself. The rules apply to one thread, so the test's
// thread stays unrestricted.
class LockIn : public testing::Test {
 protected:
  void SetUp() override {
    if (auto rules = engine_file_rules(); !rules) GTEST_SKIP() << rules.error().message;
    std::ofstream(secret_) << kSecret;
  }
  void locked_in(const std::function<void()>& look) {
    std::jthread([&] {
      auto rules = engine_file_rules();
      ASSERT_TRUE(rules);
      const auto locked = confine_process(std::move(*rules), filter_of_engines());
      ASSERT_TRUE(locked) << locked.error().message;
      look();
    }).join();
  }
  static base::Fd filter_of_engines() {
    base::Fd file(::memfd_create("filter", MFD_CLOEXEC));
    const auto bytes = engine_seccomp_filter();
    EXPECT_EQ(::write(file.get(), bytes->data(), bytes->size()), static_cast<ssize_t>(bytes->size()));
    ::lseek(file.get(), 0, SEEK_SET);
    return file;
  }
  static bool opens(const std::string& path, int flags) {
    return static_cast<bool>(base::Fd(::open(path.c_str(), flags | O_CLOEXEC, 0600)));
  }

  support::TempDir dir_;
  const std::string secret_ = dir_.str() + "/secret";
};

TEST_F(LockIn, FilesOfItsOwnUserAreNeitherReadNorListed) {
  locked_in([&] {
    EXPECT_FALSE(opens(secret_, O_RDONLY));
    EXPECT_FALSE(opens(dir_.str(), O_RDONLY | O_DIRECTORY));
    EXPECT_FALSE(opens("/etc/passwd", O_RDONLY));
    EXPECT_FALSE(opens("/proc/self/environ", O_RDONLY));
  });
  EXPECT_TRUE(opens(secret_, O_RDONLY)) << "the other threads are not restricted";
}

TEST_F(LockIn, NothingIsWrittenMadeMovedOrRemoved) {
  locked_in([&] {
    EXPECT_FALSE(opens(secret_, O_WRONLY));
    EXPECT_FALSE(opens(secret_, O_WRONLY | O_TRUNC));
    EXPECT_FALSE(opens(dir_.str() + "/new", O_WRONLY | O_CREAT));
    EXPECT_FALSE(opens("/tmp/new-file-of-a-locked-in-engine", O_WRONLY | O_CREAT));
    EXPECT_NE(::truncate(secret_.c_str(), 0), 0);
    EXPECT_NE(::chmod(secret_.c_str(), 0), 0);
    EXPECT_NE(::rename(secret_.c_str(), (secret_ + "2").c_str()), 0);
    EXPECT_NE(::link(secret_.c_str(), (secret_ + "2").c_str()), 0);
    EXPECT_NE(::symlink("/", (secret_ + "2").c_str()), 0);
    EXPECT_NE(::mkdir((dir_.str() + "/folder").c_str(), 0700), 0);
    EXPECT_NE(::unlink(secret_.c_str()), 0);
  });
  EXPECT_EQ(std::filesystem::file_size(secret_), kSecret.size());
}

TEST_F(LockIn, TheSystemsFilesAreReadAndMemoryFilesOpenedAgain) {
  const base::Fd memory(::memfd_create("document", MFD_CLOEXEC));
  locked_in([&] {
    EXPECT_TRUE(opens("/usr/bin/pdftotext", O_RDONLY));
    EXPECT_TRUE(opens("/usr/share", O_RDONLY | O_DIRECTORY));
    EXPECT_FALSE(opens("/usr/share/new", O_WRONLY | O_CREAT));
    EXPECT_TRUE(opens("/dev/null", O_RDWR));
    EXPECT_TRUE(opens("/proc/self/fd/" + std::to_string(memory.get()), O_RDONLY))
        << "poppler opens the document this way";
  });
}

TEST_F(LockIn, NoSocketIsMadeAndNoOtherProcessIsBounded) {
  locked_in([&] {
    EXPECT_FALSE(base::Fd(::socket(AF_INET, SOCK_STREAM, 0)));
    EXPECT_FALSE(base::Fd(::socket(AF_UNIX, SOCK_STREAM, 0)));
    rlimit files{};
    EXPECT_EQ(::prlimit(0, RLIMIT_NOFILE, nullptr, &files), 0);
    EXPECT_NE(::prlimit(::getppid(), RLIMIT_NOFILE, &files, nullptr), 0);
  });
}

TEST_F(LockIn, ADescriptorThatIsNoRulesetIsAnError) {
  std::jthread([] {
    const auto locked = confine_process(base::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), base::Fd());
    EXPECT_FALSE(locked);
    EXPECT_FALSE(confine_process(base::Fd(), base::Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC))))
        << "an empty filter is refused";
  }).join();
}

}  // namespace
}  // namespace millrace::process

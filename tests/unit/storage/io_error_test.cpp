#include <csignal>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/support/temp_dir.h"
#include "tests/unit/storage/opened_store.h"
#include "tests/unit/storage/other_process.h"

namespace millrace::storage {
namespace {

// A file size limit makes write(2) fail with EFBIG, which is neither a full disk nor an error that SQLite
// knows.
int commit_past_the_size_limit(const std::string& data_dir) {
  std::signal(SIGXFSZ, SIG_IGN);
  base::SystemClock clock;
  auto store = opened(test_options(data_dir), clock);
  if (!write(*store, bump)) return 2;
  const rlimit limit{.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  static_cast<void>(write(*store, bump));
  return 3;
}

TEST(IoErrorTest, AnIoErrorOfCommitEndsTheProcess) {
  support::TempDir dir;
  OtherProcess other([&](auto&) { return commit_past_the_size_limit(dir.str()); });
  EXPECT_EQ(other.wait(), 1);
}

}  // namespace
}  // namespace millrace::storage

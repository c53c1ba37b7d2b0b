#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"
#include "tests/support/wait_until.h"

namespace millrace::support {
namespace {

TEST(Support, AWaitEndsWhenItsStateHoldsOrItsDeadlinePasses) {
  int looks = 0;
  EXPECT_TRUE(wait_until([&] { return ++looks == 3; }));
  EXPECT_FALSE(wait_until([] { return false; }, std::chrono::milliseconds(5)));
}

TEST(Support, ATempDirIsGoneWithItsContentAtTheEnd) {
  std::filesystem::path path;
  {
    TempDir dir;
    path = dir.path();
    const auto file = dir.write("a/b.txt", "text");
    std::ifstream in(file);
    std::string content;
    in >> content;
    EXPECT_EQ(content, "text");
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace millrace::support

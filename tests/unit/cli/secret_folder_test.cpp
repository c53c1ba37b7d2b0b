#include <filesystem>

#include <gtest/gtest.h>

#include "app/cli/machines/ssh_login.h"

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

TEST(SecretFolder, IsOfUsAloneAndGoneAtTheEnd) {
  std::string path;
  {
    const auto folder = SecretFolder::make();
    ASSERT_TRUE(folder) << folder.error().message;
    path = folder->path("");
    ASSERT_TRUE(folder->write("known_hosts", "line\n"));
    EXPECT_FALSE(folder->write("known_hosts", "again\n"));
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    EXPECT_EQ(fs::status(folder->path("known_hosts")).permissions(),
              fs::perms::owner_read | fs::perms::owner_write);
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace millrace::cli

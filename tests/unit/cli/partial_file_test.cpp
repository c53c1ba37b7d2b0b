#include "app/cli/partial_file.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string content(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t files_in(const fs::path& folder) {
  const fs::directory_iterator all(folder);
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

base::Status put(const std::string& folder, const std::string& name, std::string_view bytes) {
  auto file = PartialFile::below(folder, name);
  if (!file) return file.error();
  file->write(bytes);
  return file->finish();
}

TEST(PathBelow, ANameThatLeadsOutIsNone) {
  EXPECT_THAT(path_below("a/b/c.txt").value(), ElementsAre("a", "b", "c.txt"));
  EXPECT_THAT(path_below("..a").value(), ElementsAre("..a"));
  using namespace std::string_view_literals;
  for (const std::string_view wrong : {""sv, "/etc/passwd"sv, ".."sv, "../a"sv, "a/../../b"sv, "a/.."sv,
                                       "a//b"sv, "a/"sv, "./a"sv, "a\0b"sv}) {
    EXPECT_FALSE(path_below(wrong)) << wrong;
  }
}

TEST(PartialFile, HasItsNameOnceItIsWhole) {
  const support::TempDir folder;
  auto file = PartialFile::below(folder.str() + "/new", "sub/a.txt");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(file->write("one "));
  EXPECT_TRUE(file->write("two"));
  EXPECT_FALSE(fs::exists(folder.path() / "new/sub/a.txt"));
  ASSERT_TRUE(file->finish());
  EXPECT_EQ(content(folder.path() / "new/sub/a.txt"), "one two");
  EXPECT_EQ(files_in(folder.path() / "new/sub"), 1u);
}

TEST(PartialFile, LeavesNothingAndChangesNothingUnlessItIsFinished) {
  const support::TempDir folder;
  folder.write("a.txt", "before");
  {
    auto file = PartialFile::below(folder.str(), "a.txt");
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->write("half"));
  }
  EXPECT_EQ(content(folder.path() / "a.txt"), "before");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(PartialFile, NoSymbolicLinkLeadsItOutOfTheFolder) {
  const support::TempDir folder, outside;
  outside.write("kept", "safe");
  fs::create_directory_symlink(outside.path(), folder.path() / "sub");
  EXPECT_FALSE(put(folder.str(), "sub/kept", "gone"));
  fs::create_symlink(outside.path() / "kept", folder.path() / "link");
  ASSERT_TRUE(put(folder.str(), "link", "here"));
  EXPECT_EQ(content(outside.path() / "kept"), "safe");
  EXPECT_FALSE(fs::is_symlink(folder.path() / "link"));
  const base::Status out = put(folder.str(), "../kept", "gone");
  ASSERT_FALSE(out);
  EXPECT_THAT(out.error().message, HasSubstr("leads outside of"));
}

TEST(PartialFile, AFileOfAGivenPathIsReplaced) {
  const support::TempDir folder;
  const fs::path path = folder.write("a.txt", "before");
  auto file = PartialFile::at(path.string());
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->write("after"));
  ASSERT_TRUE(file->finish());
  EXPECT_EQ(content(path), "after");
}

TEST(PartialFile, WhatCannotBeMadeIsNamed) {
  const support::TempDir folder;
  folder.write("file", "x");
  const auto at = PartialFile::at(folder.str() + "/none/a");
  ASSERT_FALSE(at);
  EXPECT_THAT(at.error().message, HasSubstr("none/a: No such file or directory"));
  EXPECT_FALSE(PartialFile::below(folder.str() + "/file", "a"));
  fs::create_directory(folder.path() / "taken");
  EXPECT_FALSE(put(folder.str(), "taken", "x"));
  EXPECT_EQ(files_in(folder.path()), 2u);
}

}  // namespace
}  // namespace millrace::cli

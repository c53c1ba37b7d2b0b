#include "app/cli/journal.h"

#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace millrace::cli {
namespace {

namespace fs = std::filesystem;

class JournalTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  base::Result<Journal> open() const { return Journal::beside(folder_ / "out.jsonl", "test"); }

  fs::path folder_ = fs::temp_directory_path() / ("journal-" + std::to_string(::getpid()));
  fs::path file_ = folder_ / ".millrace-test-out.jsonl";
};

TEST_F(JournalTest, ItHasTheLinesOfTheProcessBefore) {
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    ASSERT_TRUE(journal->restart({{"key", "a"}}));
    ASSERT_TRUE(journal->add({{"file", "b"}}));
  }
  auto journal = open();
  ASSERT_TRUE(journal);
  ASSERT_EQ(2U, journal->entries().size());
  EXPECT_EQ("b", journal->entries()[1]["file"]);
  ASSERT_TRUE(journal->restart({{"key", "c"}}));
  EXPECT_EQ(1U, journal->entries().size());
}

TEST_F(JournalTest, ALineThatWasCutOffIsNoEntryAndSpoilsNoOther) {
  std::ofstream(file_) << "{\"key\":\"a\"}\n{\"fil";
  {
    auto journal = open();
    ASSERT_TRUE(journal);
    ASSERT_EQ(1U, journal->entries().size());
    ASSERT_TRUE(journal->add({{"file", "b"}}));
  }
  auto journal = open();
  ASSERT_TRUE(journal);
  ASSERT_EQ(2U, journal->entries().size());
  EXPECT_EQ("b", journal->entries()[1]["file"]);
}

TEST_F(JournalTest, OneProcessHoldsIt) {
  auto first = open();
  ASSERT_TRUE(first);
  const auto second = open();
  ASSERT_FALSE(second);
  EXPECT_EQ(base::Code::kBadRequest, second.error().code);
}

TEST_F(JournalTest, WhatIsCompleteLeavesNoFile) {
  auto journal = open();
  ASSERT_TRUE(journal);
  journal->remove();
  EXPECT_FALSE(fs::exists(file_));
  EXPECT_TRUE(open()) << "a new one";
}

TEST_F(JournalTest, OnlyAFileCanBeGoneOnWith) {
  EXPECT_TRUE(Journal::is_for(folder_ / "out.jsonl"));
  EXPECT_FALSE(Journal::is_for("-"));
  EXPECT_FALSE(Journal::is_for("/dev/null"));
}

}  // namespace
}  // namespace millrace::cli

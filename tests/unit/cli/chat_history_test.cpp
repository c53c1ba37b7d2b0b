#include "app/cli/chat/chat_history.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <latch>
#include <thread>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temp_dir.h"

namespace millrace::cli {
namespace {

using Lines = std::vector<std::string>;

struct ChatHistories : ::testing::Test {
  support::TempDir folder;
  std::filesystem::path file = std::filesystem::path(folder.path()) / "state" / "history";

  Lines kept() const { return ChatHistory(file).lines(); }
};

TEST_F(ChatHistories, LinesAreThereInTheNextConversationForTheirUserAlone) {
  EXPECT_TRUE(ChatHistory(file).add("one"));
  ChatHistory later(file);
  EXPECT_TRUE(later.add("two"));
  EXPECT_EQ(later.lines(), (Lines{"one", "two"}));
  EXPECT_EQ(kept(), (Lines{"one", "two"}));
  struct stat seen {};
  ASSERT_EQ(0, ::stat(file.c_str(), &seen));
  EXPECT_EQ(seen.st_mode & 0777U, 0600U);
}

TEST_F(ChatHistories, WhatBeginsWithABlankOrRepeatsTheOneBeforeIsNotRemembered) {
  ChatHistory history(file);
  EXPECT_TRUE(history.add("one"));
  for (const char* line : {"one", " a secret", "\tanother", "", "  "})
    EXPECT_FALSE(history.add(line)) << line;
  EXPECT_TRUE(history.add("two"));
  EXPECT_TRUE(history.add("one"));
  EXPECT_EQ(kept(), (Lines{"one", "two", "one"}));
}

TEST_F(ChatHistories, OnlyTheNewestLinesAreKept) {
  ChatHistory history(file);
  for (std::size_t i = 0; i < kHistoryLinesMax + 3; ++i) history.add(std::to_string(i));
  EXPECT_EQ(history.lines().size(), kHistoryLinesMax);
  EXPECT_EQ(kept(), history.lines());
  EXPECT_EQ(kept().front(), "3");
}

TEST_F(ChatHistories, AFileThatHasGrownTooLongIsShortenedToItsNewestLines) {
  std::filesystem::create_directories(file.parent_path());
  {
    std::ofstream out(file);
    for (std::size_t i = 0; i * 100 <= kHistoryBytesMax; ++i) out << i << std::string(100, 'x') << '\n';
    out << "the last\n";
  }
  const Lines lines = kept();
  EXPECT_EQ(lines.size(), kHistoryLinesMax);
  EXPECT_EQ(lines.back(), "the last");
  EXPECT_LT(std::filesystem::file_size(file), kHistoryBytesMax);
  EXPECT_EQ(kept(), lines);
  const auto entries = std::filesystem::directory_iterator(file.parent_path());
  EXPECT_EQ(1, std::distance(begin(entries), end(entries)));
}

TEST_F(ChatHistories, ConversationsThatShortenItAtTheSameTimeLoseNoLine) {
  constexpr int kRounds = 30;
  std::filesystem::create_directories(file.parent_path());
  const std::string old_lines = [] {
    std::string text;
    while (text.size() <= kHistoryBytesMax) text.append(2'000, 'x').append("\n");
    return text;
  }();
  for (int round = 0; round < kRounds; ++round) {
    std::ofstream(file) << old_lines;
    std::latch begin(2);
    const auto talk = [&](const std::string& said) {
      begin.arrive_and_wait();
      ChatHistory(file).add(said);
    };
    { std::jthread one(talk, "one"), other(talk, "other"); }
    Lines lines = kept();
    ASSERT_GT(lines.size(), 2U);
    Lines last(lines.end() - 2, lines.end());
    std::ranges::sort(last);
    ASSERT_EQ(last, (Lines{"one", "other"})) << round;
    ASSERT_LT(std::filesystem::file_size(file), kHistoryBytesMax);
  }
  const auto entries = std::filesystem::directory_iterator(file.parent_path());
  EXPECT_EQ(1, std::distance(begin(entries), end(entries)));
}

TEST_F(ChatHistories, WithoutAFileTheyAreOfThisConversation) {
  ChatHistory nowhere{std::filesystem::path()};
  EXPECT_TRUE(nowhere.add("one"));
  EXPECT_EQ(nowhere.lines(), Lines{"one"});
  ChatHistory unwritable("/proc/nobody/writes/here");
  EXPECT_TRUE(unwritable.add("one"));
  EXPECT_EQ(unwritable.lines(), Lines{"one"});
}

}  // namespace
}  // namespace millrace::cli

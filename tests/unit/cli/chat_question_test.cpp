#include <vector>

#include <gtest/gtest.h>

#include "app/cli/chat/chat_talk.h"

namespace millrace::cli {
namespace {

// Empty while more lines are expected; otherwise the question.
std::string asked(const std::vector<std::string>& lines) {
  ChatQuestion question;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool whole = question.add(lines[i]);
    EXPECT_EQ(whole, i + 1 == lines.size()) << lines[i];
    EXPECT_EQ(whole, !question.is_open()) << lines[i];
  }
  return question.take();
}

TEST(ChatQuestions, ALineIsOne) {
  EXPECT_EQ(asked({"why?"}), "why?");
  EXPECT_EQ(asked({R"(C:\\)"}), R"(C:\\)");
}

TEST(ChatQuestions, ABackslashAtTheEndJoinsTheNextLine) {
  EXPECT_EQ(asked({
                "one\\",
                "two\\",
                "",
            }),
            "one\ntwo");
  EXPECT_EQ(asked({"one \\", "  two"}), "one \n  two");
}

TEST(ChatQuestions, WhatIsQuotedIsAsItIs) {
  EXPECT_EQ(asked({R"(""")", "  if x:", "/exit", "", "a \\", R"(""")"}), "  if x:\n/exit\n\na \\");
  EXPECT_EQ(asked({R"("""one)", R"(two""")"}), "one\ntwo");
  EXPECT_EQ(asked({R"("""one""")"}), "one");
  EXPECT_EQ(asked({R"("""""")"}), "");
}

TEST(ChatQuestions, AForgottenOneLeavesNothing) {
  ChatQuestion question;
  question.add(R"("""half)");
  question.forget();
  EXPECT_FALSE(question.is_open());
  EXPECT_TRUE(question.add("whole"));
  EXPECT_EQ(question.take(), "whole");
}

}  // namespace
}  // namespace millrace::cli

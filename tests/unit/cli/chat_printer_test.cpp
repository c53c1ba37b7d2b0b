#include "app/cli/chat/chat_printer.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using nlohmann::json;

// A FILE in memory.
class Written {
 public:
  Written() : file_(::open_memstream(&text_, &size_)) {}
  ~Written() {
    std::fclose(file_);
    std::free(text_);  // NOLINT(cppcoreguidelines-no-malloc): open_memstream's
  }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    return std::string(text_, size_);
  }

 private:
  char* text_ = nullptr;
  std::size_t size_ = 0;
  std::FILE* file_;
};

struct Shown {
  explicit Shown(ChatPrintOptions show = {}) : printer(show, out.file(), err.file()) {}
  void delta(const char* delta, const char* finish = nullptr) {
    const json choice = {{"index", 0},
                         {"delta", json::parse(delta)},
                         {"finish_reason", finish == nullptr ? json() : json(finish)}};
    printer.take("message", json{{"model", "m"}, {"choices", {choice}}}.dump());
  }
  Written out, err;
  ChatPrinter printer;
};

TEST(ChatPrinter, PiecesComeAsTheyAreAndTheLastLineEnds) {
  Shown shown;
  shown.delta(R"({"role":"assistant","content":""})");
  shown.delta(R"({"content":"one "})");
  EXPECT_EQ(shown.out.text(), "one ");
  shown.delta(R"({"content":"two"})", "stop");
  shown.printer.take("message", "[DONE]");
  shown.printer.end_line();
  EXPECT_EQ(shown.out.text(), "one two\n");
  EXPECT_EQ(shown.err.text(), "");
  EXPECT_TRUE(shown.printer.received().whole);
  EXPECT_EQ(shown.printer.received().text, "one two");
  EXPECT_EQ(shown.printer.received().finish_reason, "stop");
}

TEST(ChatPrinter, ATextThatEndsItsLineGetsNoOther) {
  Shown shown;
  shown.delta(R"({"content":"list\n"})");
  shown.printer.end_line();
  EXPECT_EQ(shown.out.text(), "list\n");
}

TEST(ChatPrinter, ReasoningIsDimAndApartFromTheAnswer) {
  Shown shown({.reasoning = true, .color = true});
  shown.delta(R"({"reasoning_content":"hm"})");
  shown.delta(R"({"reasoning_content":"m"})");
  shown.delta(R"({"content":"yes"})");
  EXPECT_EQ(shown.err.text(), "\x1b[2mhmm\x1b[0m\n\n");
  EXPECT_EQ(shown.out.text(), "yes");
}

TEST(ChatPrinter, ReasoningThatWasStoppedLeavesNoColourBehind) {
  Shown shown({.reasoning = true, .color = true});
  shown.delta(R"({"reasoning_content":"hm"})");
  shown.printer.end_line();
  EXPECT_THAT(shown.err.text(), testing::EndsWith("\x1b[0m\n\n"));
}

TEST(ChatPrinter, ReasoningIsNotForPipes) {
  Shown shown;
  shown.delta(R"({"reasoning_content":"hm"})");
  EXPECT_EQ(shown.err.text() + shown.out.text(), "");
}

TEST(ChatPrinter, AModelDoesNotCommandATerminal) {
  EXPECT_EQ(without_controls("a\x1b[2Jb\r\n\tc\x07\x7f \xc2\x9b é"), "a[2Jb\n\tc  é");
  Shown pipe, terminal({.terminal = true});
  pipe.delta(R"({"content":"\u001b[2J"})");
  terminal.delta(R"({"content":"\u001b[2J"})");
  EXPECT_EQ(pipe.out.text(), "\x1b[2J");
  EXPECT_EQ(terminal.out.text(), "[2J");
}

TEST(ChatPrinter, JsonIsAChunkALine) {
  Shown shown({.json = true, .reasoning = true});
  shown.delta(R"({"content":"one","reasoning_content":"hm"})");
  shown.printer.take("message", R"({"choices":[],"usage":{"total_tokens":3}})");
  shown.printer.take("message", "[DONE]");
  shown.printer.end_line();
  EXPECT_EQ(shown.printer.received().usage["total_tokens"], 3);
  EXPECT_THAT(shown.out.text(), testing::EndsWith("}\n{\"choices\":[],\"usage\":{\"total_tokens\":3}}\n"));
  EXPECT_EQ(shown.err.text(), "");
}

TEST(ChatPrinter, AnErrorInTheStreamIsPrinted) {
  Shown shown;
  shown.delta(R"({"content":"one"})");
  shown.printer.take("error", R"({"error":{"message":"gone","code":"upstream_error"}})");
  ASSERT_TRUE(shown.printer.received().error);
  EXPECT_EQ(shown.printer.received().error->message, "gone");
  EXPECT_EQ(shown.printer.received().error->code, "upstream_error");
  EXPECT_FALSE(shown.printer.received().whole);
}

TEST(ChatPrinter, AWholeAnswerIsShownAsAStreamIs) {
  Shown shown;
  shown.printer.take_whole(json::parse(
      R"({"model":"m","choices":[{"finish_reason":"stop","message":{"content":"yes","refusal":null}}]})"));
  shown.printer.end_line();
  EXPECT_EQ(shown.out.text(), "yes\n");
  EXPECT_TRUE(shown.printer.received().whole);
}

TEST(ChatPrinter, WhatIsNoChunkIsPassedOver) {
  Shown shown;
  for (const char* data : {"", "no json", "[]", "{}", R"({"choices":[1]})", R"({"choices":[{"delta":3}]})"})
    EXPECT_TRUE(shown.printer.take("message", data));
  EXPECT_EQ(shown.out.text(), "");
}

TEST(ChatPrinter, DroppedParametersOfAStreamArePrinted) {
  Shown shown;
  shown.delta(R"({"content":"one"})", "stop");
  shown.printer.take("message", R"({"choices":[],"dropped_params":"guardrails, n;emulated"})");
  shown.printer.take("message", "[DONE]");
  EXPECT_EQ(shown.printer.received().dropped, "guardrails, n;emulated");
}

}  // namespace
}  // namespace millrace::cli

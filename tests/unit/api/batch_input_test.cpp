#include "api/batches/batch_input.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace millrace::api {
namespace {

storage::OpenFile file_with(const std::string& content) {
  const int fd = ::memfd_create("input", MFD_CLOEXEC);
  EXPECT_EQ(::write(fd, content.data(), content.size()), std::ssize(content));
  return storage::OpenFile(fd);
}

// "number@start:text" of each line; a long one has no text.
std::vector<std::string> lines_of(const std::string& content, std::int64_t line_max = 1'000'000) {
  BatchInput input(file_with(content), line_max);
  std::vector<std::string> out;
  std::string text;
  for (;;) {
    const auto line = input.next(text);
    if (!line || !*line) return out;
    const std::string shown = (*line)->is_too_long ? "too long" : text;
    if (!(*line)->is_too_long) {
      EXPECT_EQ(input.read((*line)->starts_at, (*line)->bytes).value(), text);
    }
    out.push_back(std::to_string((*line)->number) + "@" + std::to_string((*line)->starts_at) + ":" + shown);
  }
}

TEST(BatchInputs, EmptyLinesCountAndAreLeftOut) {
  EXPECT_EQ(lines_of("a\n\n \r\nb"), (std::vector<std::string>{"1@0:a", "4@6:b"}));
  EXPECT_TRUE(lines_of("").empty());
  EXPECT_TRUE(lines_of("\n\r\n  ").empty());
}

TEST(BatchInputs, AByteOrderMarkIsNoPartOfTheFirstLine) {
  EXPECT_EQ(lines_of("\xEF\xBB\xBF{}\r\n{}\n"), (std::vector<std::string>{"1@3:{}\r", "2@7:{}"}));
  EXPECT_TRUE(lines_of("\xEF\xBB\xBF").empty());
}

TEST(BatchInputs, LinesContinueOverThePiecesThatAreRead) {
  const std::string first(300'000, 'x'), second(600'000, 'y');
  const auto lines = lines_of(first + "\n" + second + "\nz");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], "1@0:" + first);
  EXPECT_EQ(lines[1], "2@300001:" + second);
  EXPECT_EQ(lines[2], "3@900002:z");
}

TEST(BatchInputs, OfALongLineOnlyThePlaceIsKnown) {
  EXPECT_EQ(lines_of(std::string(5, 'x') + "\n" + std::string(4, 'y') + "\n" + std::string(900'000, 'z'), 4),
            (std::vector<std::string>{"1@0:too long", "2@6:yyyy", "3@11:too long"}));
}

TEST(BatchInputs, ALongRunOfEmptyLinesIsLeftOutInSteps) {
  BatchInput input(file_with(std::string(900'000, '\n') + "x"), 10);
  std::string text;
  int steps = 0;
  for (auto line = input.next(text).value(); line->is_empty; line = input.next(text).value()) ++steps;
  EXPECT_EQ(text, "x");
  EXPECT_GE(steps, 3);
}

TEST(BatchInputs, AShortFileIsDamaged) {
  const BatchInput input(file_with("abc"), 10);
  EXPECT_EQ(input.read(1, 2).value(), "bc");
  EXPECT_EQ(input.read(1, 3).error().code, base::Code::kStoredDamaged);
}

}  // namespace
}  // namespace millrace::api

#include "api/front/output.h"

#include <array>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace millrace::front {
namespace {

// A socket with a small buffer, and its peer.
class OutputTo : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const int size = 4096;
    ::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
  }
  void TearDown() override {
    ::close(ends[0]);
    if (ends[1] >= 0) ::close(ends[1]);
  }

  // The bytes that have arrived so far.
  std::string received() {
    std::array<char, 4096> buffer;
    std::string text;
    ssize_t count = 0;
    while ((count = ::recv(ends[1], buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

  // Reads and flushes alternately until no output is pending.
  std::string received_all() {
    std::string text = received();
    while (output.flush(ends[0]) == Output::State::kBlocked) text += received();
    return text + received();
  }

  std::array<int, 2> ends{-1, -1};
  Output output;
};

std::string numbered(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += std::to_string(i) + ",";
  return text;
}

TEST_F(OutputTo, AFreeSocketTakesAReplyAtOnce) {
  EXPECT_EQ(output.send(ends[0], "head;", "body"), Output::State::kEmpty);
  EXPECT_TRUE(output.empty());
  EXPECT_EQ(received(), "head;body");
}

TEST_F(OutputTo, AFullSocketLeavesTheRestHereInOrder) {
  const std::string body = numbered(300'000);
  EXPECT_EQ(output.send(ends[0], "head;", body), Output::State::kBlocked);
  EXPECT_GT(output.bytes(), 0u);
  std::string expected = "head;" + body;
  for (int i = 0; i < 50; ++i) {
    const std::string piece = numbered(static_cast<std::size_t>(i) * 37);
    const std::array<std::string_view, 3> pieces = {"<", piece, ">"};
    EXPECT_EQ(output.send(ends[0], pieces), Output::State::kBlocked);
    expected += "<" + piece + ">";
  }
  EXPECT_EQ(output.send(ends[0], "last;", "words"), Output::State::kBlocked);
  EXPECT_EQ(received_all(), expected + "last;words");
  EXPECT_TRUE(output.empty());
  EXPECT_EQ(output.bytes(), 0u);
}

TEST_F(OutputTo, MorePiecesThanOneCallTakesAllArrive) {
  const std::array<std::string_view, 20> pieces = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                                   "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"};
  output.send(ends[0], pieces);
  EXPECT_EQ(received_all(), "abcdefghijklmnopqrst");
}

TEST_F(OutputTo, AClosedSocketIsBrokenAndRaisesNoSignal) {
  ::close(std::exchange(ends[1], -1));
  EXPECT_EQ(output.send(ends[0], "head", "body"), Output::State::kBroken);
}

TEST_F(OutputTo, ClearForgetsWhatWaits) {
  output.send(ends[0], "head;", numbered(300'000));
  output.clear();
  EXPECT_TRUE(output.empty());
  EXPECT_EQ(output.flush(ends[0]), Output::State::kEmpty);
}

}  // namespace
}  // namespace millrace::front

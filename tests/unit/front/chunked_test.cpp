#include "api/front/chunked.h"

#include <gtest/gtest.h>

#include "api/front/exchange.h"

namespace millrace::front {
namespace {

using State = ChunkedDecoder::State;
constexpr std::size_t kBodyMax = 1000;

struct Decoded {
  State state = State::kMore;
  std::string body;
  std::size_t left = 0;  // bytes that were not consumed
};

Decoded decode(std::string_view input, std::size_t piece = std::string_view::npos) {
  ChunkedDecoder decoder(kBodyMax);
  Decoded decoded;
  while (!input.empty() && decoded.state == State::kMore) {
    std::string_view part = input.substr(0, piece);
    const std::size_t size = part.size();
    decoded.state = decoder.feed(part, decoded.body);
    input.remove_prefix(size - part.size());
  }
  decoded.left = input.size();
  return decoded;
}

TEST(ChunkedDecoder, GivesTheSameBodyWhereverThePiecesBreak) {
  const std::string input =
      "4\r\nWiki\r\n6;a=\"b\"\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nX: y\r\n\r\nNEXT";
  for (std::size_t piece = 1; piece <= input.size(); ++piece) {
    const Decoded decoded = decode(input, piece);
    EXPECT_EQ(decoded.state, State::kDone) << piece;
    EXPECT_EQ(decoded.body, "Wikipedia in \r\n\r\nchunks.") << piece;
    EXPECT_EQ(decoded.left, 4u) << piece;
  }
}

TEST(ChunkedDecoder, TakesHexadecimalDigitsOfBothCases) {
  EXPECT_EQ(decode("a\r\n0123456789\r\nA\r\n0123456789\r\n00\r\n\r\n").body.size(), 20u);
}

TEST(ChunkedDecoder, RefusesWhatIsNoChunk) {
  for (const char* input : {"0x5\r\nhello\r\n0\r\n\r\n",
                            "-5\r\n",
                            "+5\r\n",
                            " 5\r\n",
                            "5 \r\n",
                            "\r\n",
                            ";a\r\n",
                            "g\r\n",
                            "5\n",
                            "5\rx",
                            "00000000000000005\r\n",
                            "10000000000000000\r\n",
                            "5\r\nhelloX",
                            "5\r\nhello\rX",
                            "5\r\nhello\n",
                            "5;a\x01\r\n",
                            "5;a\nhello",
                            "0\r\n\n",
                            "0\r\nX: y\n",
                            "0\r\nX\x01: y\r\n",
                            "0\r\nX: y\r\r",
                            "0\r\nX\r\n",
                            "0\r\n: y\r\n",
                            "0\r\nX y: z\r\n",
                            "0\r\n X: y\r\n",
                            "0\r\nX : y\r\n",
                            "0\r\nGET / HTTP/1.1\r\n",
                            "0\r\nContent-length: 5\r\n",
                            "0\r\nTransfer-Encoding: chunked\r\n",
                            "0\r\nHost: a\r\n"}) {
    EXPECT_EQ(decode(input).state, State::kMalformed) << input;
    EXPECT_EQ(decode(input, 1).state, State::kMalformed) << input;
  }
}

TEST(ChunkedDecoder, RefusesAChunkThatWouldPassTheLimitBeforeReadingIt) {
  EXPECT_EQ(decode("3e8\r\n").state, State::kMore);
  EXPECT_EQ(decode("3e9\r\n").state, State::kTooLarge);
  EXPECT_EQ(decode("7fffffffffffffff\r\n").state, State::kTooLarge);
  EXPECT_EQ(decode("8000000000000000\r\n").state, State::kMalformed);
  EXPECT_EQ(decode("ffffffffffffffff\r\n").state, State::kMalformed);
  EXPECT_EQ(decode("3e8\r\n" + std::string(1000, 'x') + "\r\n1\r\n").state, State::kTooLarge);
}

TEST(ChunkedDecoder, BoundsExtensionsAndTrailers) {
  EXPECT_EQ(decode("5;" + std::string(256, 'x')).state, State::kMore);
  EXPECT_EQ(decode("5;" + std::string(257, 'x')).state, State::kMalformed);
  std::string trailers = "0\r\n";
  for (int i = 0; i < 200; ++i) trailers += "X: " + std::string(60, 'y') + "\r\n";
  EXPECT_EQ(decode(trailers + "\r\n").state, State::kMalformed);
}

TEST(ChunkedDecoder, KeepsThePaddingBehindTheBody) {
  const std::string input = "3e8\r\n" + std::string(1000, 'x') + "\r\n0\r\n\r\n";
  EXPECT_GE(decode(input, 7).body.capacity(), 1000 + kBodyPadding);
}

}  // namespace
}  // namespace millrace::front

#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

using support::wait_until;

constexpr const char* kGet10 = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";

// Streams with a Content-Length.
class DeclaredStreams : public Served {
 protected:
  void SetUp() override {
    application.on_run = [this](Request, const Responder& responder) { parked.park(responder); };
  }
  Responder begin(RawClient& one, const std::string& request, std::uint64_t length, int status = 200) {
    EXPECT_TRUE(one.send(request));
    Responder responder = parked.next();
    EXPECT_TRUE(responder.start_stream(text_reply("", status), length));
    return responder;
  }
  // Checks that the connection accepts another request.
  void expect_usable(RawClient& one) {
    ASSERT_TRUE(one.send(get("/")));
    parked.next().send(text_reply("next"));
    EXPECT_EQ(one.reply()->body, "next");
  }

  Signal gone;
};

TEST_F(DeclaredStreams, HaveTheirLengthAndNoChunksAndLeaveTheConnectionUsable) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, get("/"), 11);
  EXPECT_TRUE(stream.write("hello "));
  EXPECT_TRUE(stream.write(""));
  EXPECT_TRUE(stream.write("world"));
  EXPECT_TRUE(stream.end());
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->headers.at("content-length"), "11");
  EXPECT_FALSE(reply->has("transfer-encoding"));
  EXPECT_EQ(reply->body, "hello world");
  expect_usable(one);
}

TEST_F(DeclaredStreams, KeepAConnectionOfHttp10ThatAsksForIt) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, kGet10, 5);
  EXPECT_TRUE(stream.write("hello"));
  EXPECT_TRUE(stream.end());
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->headers.at("content-length"), "5");
  EXPECT_EQ(reply->headers.at("connection"), "keep-alive");
  EXPECT_EQ(reply->body, "hello");
  expect_usable(one);
}

TEST_F(DeclaredStreams, ThatEndEarlyCutTheConnection) {
  start();
  for (const std::string& request : {get("/"), std::string(kGet10)}) {
    RawClient one = client();
    const Responder stream = begin(one, request, 100);
    EXPECT_TRUE(stream.write("some"));
    EXPECT_FALSE(stream.end());
    EXPECT_FALSE(stream.alive());
    const auto reply = one.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->headers.at("content-length"), "100");
    EXPECT_FALSE(reply->complete);
    EXPECT_EQ(reply->body, "some");
    EXPECT_TRUE(one.ends());
  }
  EXPECT_TRUE(wait_until([&] { return server->stats().in_flight == 0; }));
}

TEST_F(DeclaredStreams, MayEndWithTheirLastPieceAndWithNoOther) {
  start();
  for (const char* last : {"world", "worl", "world!"}) {
    RawClient one = client();
    const Responder stream = begin(one, get("/"), 11);
    EXPECT_TRUE(stream.write("hello "));
    const bool whole = std::string_view(last).size() == 5;
    EXPECT_EQ(whole, stream.end(last));
    const auto reply = one.reply();
    ASSERT_TRUE(reply);
    EXPECT_EQ(whole, reply->complete);
    EXPECT_EQ(reply->body, whole ? "hello world" : "hello ");
  }
}

TEST_F(DeclaredStreams, NeverHaveAByteMoreThanTheirLength) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, get("/"), 6);
  EXPECT_TRUE(stream.write("hello"));
  EXPECT_FALSE(stream.write("!!"));
  EXPECT_FALSE(stream.end());
  const auto text = one.until_end();
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->ends_with("\r\n\r\nhello")) << *text;
  EXPECT_TRUE(wait_until([&] { return server->stats().in_flight == 0; }));
}

TEST_F(DeclaredStreams, ThatAreWholeTakeNoMore) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, get("/"), 5);
  EXPECT_TRUE(stream.write("hello"));
  EXPECT_FALSE(stream.write("!"));
  const auto text = one.until_end();
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->ends_with("\r\n\r\nhello")) << *text;
}

TEST_F(DeclaredStreams, OfNoBytesAreWhole) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, get("/"), 0);
  EXPECT_TRUE(stream.end());
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->headers.at("content-length"), "0");
  expect_usable(one);
}

TEST_F(DeclaredStreams, ToHeadHaveTheirLengthAndNoBody) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 1'000'000);
  EXPECT_TRUE(stream.write("dropped"));
  EXPECT_TRUE(stream.end());
  const auto reply = one.reply(true);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->headers.at("content-length"), "1000000");
  expect_usable(one);
}

TEST_F(DeclaredStreams, OfAStatusWithoutABodySayNoLength) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, get("/"), 5, 304);
  EXPECT_TRUE(stream.write("hello"));
  EXPECT_TRUE(stream.end());
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->has("content-length"));
  expect_usable(one);
}

TEST_F(DeclaredStreams, ToAClientThatReadsNothingHoldNoMoreThanTheBound) {
  Limits limits;
  limits.stream_backlog_max = kMegabyte;
  start(limits);
  RawClient one = client(4096);
  const Responder stream = begin(one, get("/"), 1000 * kMegabyte);
  stream.on_gone([&] { gone.set(); });
  const std::string piece(64 * 1024, 'x');
  std::size_t most = 0;
  while (stream.write(piece)) most = std::max(most, stream.backlog());
  EXPECT_LE(most, limits.stream_backlog_max);
  EXPECT_TRUE(gone.wait());
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->complete);
}

TEST_F(DeclaredStreams, ThatAreWholeBeforeAllHasLeftAreReadToTheirEnd) {
  start();
  RawClient one = client(4096);
  const std::string body(4 * kMegabyte, 'x');
  const Responder stream = begin(one, get("/"), body.size());
  for (std::size_t at = 0; at < body.size(); at += kMegabyte) {
    ASSERT_TRUE(stream.write(std::string_view(body).substr(at, kMegabyte)));
  }
  EXPECT_TRUE(stream.end());
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->complete);
  EXPECT_TRUE(reply->body == body);
  expect_usable(one);
}

}  // namespace
}  // namespace millrace::front::test

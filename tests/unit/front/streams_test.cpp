#include <atomic>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

using support::wait_until;

class Streams : public Served {
 protected:
  // Starts the server, sends `request` and returns its responder after the stream has begun.
  Responder begin(RawClient& one, const std::string& request) {
    EXPECT_TRUE(one.send(request));
    Responder responder = parked.next();
    Reply head;
    head.content_type = "text/event-stream";
    EXPECT_TRUE(responder.start_stream(head));
    return responder;
  }

  void SetUp() override {
    application.on_run = [this](Request, const Responder& responder) { parked.park(responder); };
  }

  Signal gone, drained, late;
  std::atomic<int> never{0};
};

TEST_F(Streams, GoOutPieceByPieceAsTheyAreWritten) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, get("/"));
  EXPECT_TRUE(stream.write("data: 1\n\n"));
  EXPECT_TRUE(stream.write(""));
  std::string came;
  while (came.find("data: 1\n\n") == std::string::npos) {
    const std::string next = one.bytes(1);
    ASSERT_FALSE(next.empty()) << came;
    came += next;
  }
  EXPECT_EQ(came.find("HTTP/1.1 200 OK"), 0U);
  EXPECT_TRUE(stream.write("data: 2\n\n"));
  EXPECT_TRUE(stream.end());
  EXPECT_FALSE(stream.write("x"));
  EXPECT_FALSE(stream.end());
  one.send(get("/next"));
  parked.next().send(text_reply("next"));
}

TEST_F(Streams, AreChunkedAndLeaveTheConnectionUsable) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, get("/"));
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    const std::string piece(static_cast<std::size_t>(i) * 100 + 1, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(stream.write(piece));
    expected += piece;
  }
  ASSERT_TRUE(stream.end());
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->complete);
  EXPECT_EQ(reply->headers.at("transfer-encoding"), "chunked");
  EXPECT_FALSE(reply->has("content-length"));
  EXPECT_EQ(reply->body, expected);
  ASSERT_TRUE(one.send(get("/")));
  parked.next().send(text_reply("next"));
  EXPECT_EQ(one.reply()->body, "next");
}

TEST_F(Streams, MayBeginWithTheirFirstPieceAndEndWithTheirLast) {
  start();
  for (const char* line : {"GET / HTTP/1.1", "GET / HTTP/1.0"}) {
    RawClient one = client();
    ASSERT_TRUE(one.send(std::string(line) + "\r\nHost: a\r\n\r\n"));
    const Responder stream = parked.next();
    ASSERT_TRUE(stream.start_stream(text_reply(""), "first "));
    ASSERT_TRUE(stream.write("and "));
    ASSERT_TRUE(stream.end("last"));
    EXPECT_FALSE(stream.end("again"));
    const auto reply = one.reply();
    ASSERT_TRUE(reply);
    EXPECT_TRUE(reply->complete);
    EXPECT_EQ(reply->body, "first and last");
  }
}

TEST_F(Streams, ToHeadDropTheirFirstAndTheirLastPieceToo) {
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"));
  const Responder stream = parked.next();
  ASSERT_TRUE(stream.start_stream(text_reply(""), "first"));
  ASSERT_TRUE(stream.end("last"));
  ASSERT_TRUE(one.reply(true));
  ASSERT_TRUE(one.send(get("/")));
  parked.next().send(text_reply("next"));
  EXPECT_EQ(one.reply()->body, "next");
}

TEST_F(Streams, ThatAreAbortedHaveNoLastChunk) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, get("/"));
  ASSERT_TRUE(stream.write("some"));
  ASSERT_TRUE(stream.abort());
  EXPECT_FALSE(stream.alive());
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "some");
  EXPECT_FALSE(reply->complete);
  EXPECT_TRUE(wait_until([&] { return server->stats().in_flight == 0; }));
}

TEST_F(Streams, ToHttp10AreRawAndEndWithTheConnection) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  ASSERT_TRUE(stream.write("raw "));
  ASSERT_TRUE(stream.write("bytes"));
  ASSERT_TRUE(stream.end());
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->complete);
  EXPECT_FALSE(reply->has("transfer-encoding"));
  EXPECT_EQ(reply->body, "raw bytes");
}

TEST_F(Streams, ToHttp10ThatAreAbortedEndWithAReset) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, "GET / HTTP/1.0\r\n\r\n");
  ASSERT_TRUE(stream.write("raw"));
  ASSERT_TRUE(stream.abort());
  EXPECT_TRUE(one.ends());
  EXPECT_TRUE(one.was_reset());
}

TEST_F(Streams, ToHeadHaveNoBody) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(stream.write("nothing"));
  EXPECT_TRUE(stream.end());
  ASSERT_TRUE(one.reply(true));
  ASSERT_TRUE(one.send(get("/")));
  parked.next().send(text_reply("next"));
  EXPECT_EQ(one.reply()->body, "next");
}

TEST_F(Streams, ThatExceedTheBacklogAreDroppedAndReported) {
  Limits limits;
  limits.stream_backlog_max = kMegabyte;
  start(limits);
  RawClient one = client(4096);
  const Responder stream = begin(one, get("/"));
  stream.on_gone([this, stream] {
    EXPECT_FALSE(stream.alive());  // would deadlock if the callback ran under the connection's mutex
    gone.set();
  });
  const std::string piece(64 * 1024, 'x');
  std::size_t most = 0;
  bool dropped = false;
  for (int i = 0; i < 1000 && !dropped; ++i) {
    dropped = !stream.write(piece);
    most = std::max(most, stream.backlog());
  }
  EXPECT_TRUE(dropped);
  EXPECT_LE(most, limits.stream_backlog_max + 100);
  EXPECT_TRUE(gone.wait());
  EXPECT_FALSE(stream.alive());
  EXPECT_EQ(stream.backlog(), 0u);
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->complete);
}

TEST_F(Streams, AreNotifiedWhenTheBacklogHasDrained) {
  start();
  RawClient one = client(4096);
  const Responder stream = begin(one, get("/"));
  const std::string piece(64 * 1024, 'x');
  std::size_t written = 0;
  while (stream.backlog() < 256 * 1024) {
    ASSERT_TRUE(stream.write(piece));
    written += piece.size();
  }
  stream.on_drained(64 * 1024, [this, stream] {
    EXPECT_LE(stream.backlog(), 64u * 1024);
    drained.set();
  });
  EXPECT_FALSE(drained.is_set());
  std::size_t read = 0;
  while (!drained.is_set() && read < written) read += one.bytes(16 * 1024).size();
  EXPECT_TRUE(drained.wait());
  stream.on_drained(kMegabyte, [this] { late.set(); });
  EXPECT_TRUE(late.wait());
  stream.end();
}

TEST_F(Streams, WaitingForADrainAreNotifiedWhenTheClientLeaves) {
  start();
  RawClient one = client(4096);
  const Responder stream = begin(one, get("/"));
  while (stream.backlog() < 256 * 1024) ASSERT_TRUE(stream.write(std::string(64 * 1024, 'x')));
  stream.on_drained(0, [&] { drained.set(); });
  one.reset();
  EXPECT_TRUE(drained.wait());
  EXPECT_FALSE(stream.alive());
}

TEST_F(Streams, AnotherGoneCallbackReplacesTheFirstAndACompleteReplyDropsIt) {
  start();
  RawClient one = client();
  const Responder stream = begin(one, get("/"));
  stream.on_gone([this] { ++never; });
  stream.on_gone([&] { gone.set(); });
  RawClient two = client();
  ASSERT_TRUE(two.send(get("/")));
  const Responder whole = parked.next();
  whole.on_gone([this] { ++never; });
  ASSERT_TRUE(whole.send(text_reply("whole")));
  ASSERT_TRUE(two.reply());
  two.reset();
  one.reset();
  EXPECT_TRUE(gone.wait());
  stream.on_gone([&] { late.set(); });  // the client is already gone: called at once
  EXPECT_TRUE(late.wait());
  whole.on_gone([this] { ++never; });  // the request was answered: never called
  ASSERT_TRUE(wait_until([&] { return server->stats().connections_open == 0; }));
  server->stop();
  EXPECT_EQ(never, 0);
  EXPECT_EQ(server->stats().client_gone_total, 1u);
}

}  // namespace
}  // namespace millrace::front::test

#include <memory>

#include <gtest/gtest.h>

#include "api/front/output.h"
#include "tests/support/wait_until.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

using support::wait_until;

constexpr std::size_t kMoreThanTheKernelTakes = 16 * kMegabyte;

// Observes when a reply releases the object that it holds.
class ReplyHold : public Served {
 protected:
  void answer_with(std::size_t bytes) {
    application.on_run = [this, bytes](const Request&, const Responder& responder) {
      Reply reply = text_reply(std::string(bytes, 'x'));
      reply.reservation = std::exchange(hold_, nullptr);
      responder.send(std::move(reply));
    };
  }
  bool is_back() const { return held_.expired(); }

  std::shared_ptr<int> hold_ = std::make_shared<int>(1);
  const std::weak_ptr<int> held_ = hold_;
};

TEST_F(ReplyHold, IsReleasedWhenTheReplyHasBeenSent) {
  answer_with(10);
  start();
  ASSERT_TRUE(send_request(get("/")));
  EXPECT_TRUE(wait_until([&] { return is_back(); }));
}

TEST_F(ReplyHold, IsKeptWhileAReaderHasNotTakenTheReply) {
  answer_with(kMoreThanTheKernelTakes);
  start();
  RawClient slow = client(4096);
  ASSERT_TRUE(slow.send(get("/")));
  EXPECT_EQ(slow.bytes(12), "HTTP/1.1 200");
  EXPECT_FALSE(is_back());
  EXPECT_EQ(slow.bytes(kMegabyte).size(), kMegabyte);
  EXPECT_FALSE(is_back());
  slow.bytes(kMoreThanTheKernelTakes - kMegabyte);
  EXPECT_TRUE(wait_until([&] { return is_back(); }));
}

constexpr std::size_t kStreamBytes = 7 * kMegabyte;  // below stream_backlog_max

TEST_F(ReplyHold, OfAStreamIsKeptUntilItsEndHasBeenSent) {
  application.on_run = [this](const Request&, const Responder& responder) {
    Reply head = text_reply("");
    head.reservation = std::exchange(hold_, nullptr);
    responder.start_stream(std::move(head), kStreamBytes);
    responder.write(std::string(kStreamBytes, 'x'));
    responder.end();
  };
  start();
  RawClient slow = client(4096);
  ASSERT_TRUE(slow.send(get("/")));
  EXPECT_EQ(slow.bytes(12), "HTTP/1.1 200");
  EXPECT_FALSE(is_back());
  slow.bytes(kStreamBytes);
  EXPECT_TRUE(wait_until([&] { return is_back(); }));
}

TEST_F(ReplyHold, OfAStreamIsKeptWhileNothingIsUnsent) {
  application.on_run = [this](const Request&, const Responder& responder) {
    Reply head = text_reply("");
    head.reservation = std::exchange(hold_, nullptr);
    responder.start_stream(std::move(head));
    parked.park(responder);
  };
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/")));
  const Responder responder = parked.next();
  EXPECT_EQ(one.bytes(12), "HTTP/1.1 200");
  EXPECT_FALSE(is_back());
  responder.end();
  EXPECT_TRUE(wait_until([&] { return is_back(); }));
}

TEST_F(ReplyHold, IsReleasedWhenTheClientDisconnects) {
  answer_with(kMoreThanTheKernelTakes);
  start();
  RawClient leaving = client(4096);
  ASSERT_TRUE(leaving.send(get("/")));
  EXPECT_EQ(leaving.bytes(12), "HTTP/1.1 200");
  EXPECT_FALSE(is_back());
  leaving.reset();
  EXPECT_TRUE(wait_until([&] { return is_back(); }));
}

TEST_F(ReplyHold, IsReleasedWhenTheServerStops) {
  answer_with(kMoreThanTheKernelTakes);
  start();
  RawClient slow = client(4096);
  ASSERT_TRUE(slow.send(get("/")));
  EXPECT_EQ(slow.bytes(12), "HTTP/1.1 200");
  server->stop();
  EXPECT_TRUE(is_back());
}

TEST_F(ReplyHold, OfAReplyUnderACorkIsReleasedAtTheCorksEnd) {
  application.on_run = [this](const Request&, const Responder& responder) { parked.park(responder); };
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/")));
  const Responder responder = parked.next();
  {
    const Cork cork;
    Reply reply = text_reply("x");
    reply.reservation = std::exchange(hold_, nullptr);
    ASSERT_TRUE(responder.send(std::move(reply)));
    EXPECT_FALSE(is_back());
  }
  EXPECT_TRUE(wait_until([&] { return is_back(); }));
  EXPECT_TRUE(one.reply());
}

TEST_F(ReplyHold, OfAReplyToADisconnectedClientIsReleasedAtOnce) {
  application.on_run = [this](const Request&, const Responder& responder) { parked.park(responder); };
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/")));
  const Responder responder = parked.next();
  one.reset();
  ASSERT_TRUE(wait_until([&] { return !responder.alive(); }));
  Reply reply = text_reply("x");
  reply.reservation = std::exchange(hold_, nullptr);
  EXPECT_FALSE(responder.send(std::move(reply)));
  EXPECT_TRUE(is_back());
}

}  // namespace
}  // namespace millrace::front::test

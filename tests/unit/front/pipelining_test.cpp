#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

using support::wait_until;

class Pipelining : public Served {
 protected:
  std::atomic<int> deepest{0};
  Signal gone;
};

TEST_F(Pipelining, AnswersSixtyKilobytesOfRequestsInOrderWithoutNestingThem) {
  const auto test_thread = std::this_thread::get_id();
  application.on_run = [this, test_thread](const Request& request, const Responder& responder) {
    EXPECT_NE(std::this_thread::get_id(), test_thread);
    thread_local int depth = 0;  // recursion depth of this thread
    deepest = std::max(deepest.load(), ++depth);
    if (request.head.path == "/slow") {
      parked.park(responder);
    } else {
      responder.send(text_reply(request.head.path));
    }
    --depth;
  };
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/slow")));
  const Responder slow = parked.next();
  std::string requests;
  int count = 0;
  while (requests.size() < 60 * 1024) requests += get("/" + std::to_string(count++));
  ASSERT_TRUE(one.send(requests));
  ASSERT_TRUE(slow.send(text_reply("slow")));
  EXPECT_EQ(one.reply()->body, "slow");
  for (int i = 0; i < count; ++i) {
    const auto reply = one.reply();
    ASSERT_TRUE(reply) << i;
    ASSERT_EQ(reply->body, "/" + std::to_string(i));
  }
  EXPECT_EQ(deepest, 1);
}

TEST_F(Pipelining, RequestsThatComeTogetherAreAnsweredInOrderWithTheirBodies) {
  start();
  RawClient one = client();
  ASSERT_TRUE(
      one.send(post("/1", "a") + get("/2") +
               "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nc\r\n0\r\n\r\n" +
               post("/4", std::string(10'000, 'd'))));
  EXPECT_EQ(one.reply()->body, "POST /1 a");
  EXPECT_EQ(one.reply()->body, "GET /2 ");
  EXPECT_EQ(one.reply()->body, "POST /3 c");
  EXPECT_EQ(one.reply()->body, "POST /4 " + std::string(10'000, 'd'));
}

TEST_F(Pipelining, AClientThatSendsTooMuchBehindAPendingRequestIsCut) {
  application.on_run = [&](Request, const Responder& responder) {
    responder.on_gone([&] { gone.set(); });
    parked.park(responder);
  };
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/")));
  const Responder pending = parked.next();
  one.send(std::string(256 * 1024, 'x'));
  EXPECT_TRUE(one.ends());
  EXPECT_TRUE(gone.wait());
  EXPECT_FALSE(pending.send(text_reply("too late")));
}

TEST_F(Pipelining, TheNextRequestWaitsUntilTheReplyBeforeHasLeft) {
  application.on_run = [](Request, const Responder& responder) {
    responder.send(text_reply(std::string(16 * kMegabyte, 'x')));
  };
  start();
  RawClient one = client(4096);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(one.send(get("/")));
  ASSERT_TRUE(wait_until([&] { return application.ran() > 0; }));
  ASSERT_TRUE(send_request(get("/other")));
  EXPECT_LE(application.ran(), 2u);  // the first of the hundred requests, and the other client's
}

TEST_F(Pipelining, ARefusedFloodDoesNotGrowTheOutput) {
  application.on_admit = [](const Head&) { return text_reply(std::string(kMegabyte, 'n'), 404); };
  start();
  RawClient one = client(4096);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(one.send(get("/")));
  ASSERT_TRUE(wait_until([&] { return !application.admitted().empty(); }));
  RawClient other = client();
  ASSERT_TRUE(other.send(get("/")));
  EXPECT_EQ(other.reply()->status, 404);
  // The requests whose replies the kernel buffered, and the other client's.
  EXPECT_LE(application.admitted().size(), 10u);
}

}  // namespace
}  // namespace millrace::front::test

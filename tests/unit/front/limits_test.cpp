#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

using std::chrono::milliseconds;
using support::wait_until;

class TimeLimits : public Served {};

TEST_F(TimeLimits, ASlowHeadGets408AndIsClosed) {
  Limits limits;
  limits.head_timeout = milliseconds(200);
  start(limits);
  RawClient one = client();
  ASSERT_TRUE(one.send("GET / HT"));
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 408);
  EXPECT_EQ(reply->body, "The request head took too long.||");
  EXPECT_TRUE(one.ends());
  EXPECT_EQ(server->stats().timeouts_total, 1u);
}

TEST_F(TimeLimits, AHeadThatTricklesGets408) {
  Limits limits;
  limits.head_timeout = milliseconds(300);
  start(limits);
  RawClient one = client();
  std::string text;
  // Sends byte by byte with pauses. Only the time for the whole head counts.
  for (char c : get("/" + std::string(1000, 'a'))) {
    if (!one.send({&c, 1})) break;
    if (!(text = one.bytes(12, milliseconds(20))).empty()) break;
  }
  EXPECT_EQ(text, "HTTP/1.1 408");
}

TEST_F(TimeLimits, ABodyThatStopsGets408) {
  Limits limits;
  limits.body_stall_timeout = milliseconds(200);
  start(limits);
  RawClient one = client();
  ASSERT_TRUE(one.send("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf"));
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 408);
  EXPECT_EQ(reply->body, "The request body stopped arriving.|POST|/p");
  EXPECT_TRUE(one.ends());
}

TEST_F(TimeLimits, ABodyBelowTheLeastRateGets408) {
  Limits limits;
  limits.body_stall_timeout = milliseconds(400);
  limits.body_bytes_per_second_min = 1'000'000;
  start(limits);
  RawClient one = client();
  ASSERT_TRUE(one.send("POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n"));
  std::string text;
  for (int i = 0; i < 500 && text.empty(); ++i) {
    if (!one.send("x")) break;
    text = one.bytes(12, milliseconds(20));
  }
  EXPECT_EQ(text, "HTTP/1.1 408");
}

// Sends `piece` every 20 ms until the server responds. Returns the beginning of the response.
std::string response_to_dripping(RawClient& client, const std::string& piece) {
  std::string text;
  for (int i = 0; i < 500 && text.empty(); ++i) {
    if (!client.send(piece)) break;
    text = client.bytes(12, milliseconds(20));
  }
  return text;
}

TEST_F(TimeLimits, TheLeastRateRisesWithTheDeclaredLength) {
  Limits limits;
  limits.body_stall_timeout = milliseconds(400);
  limits.body_timeout = milliseconds(10'000);
  start(limits);
  const std::string head = "POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: ";
  RawClient small = client();
  ASSERT_TRUE(small.send(head + "3000\r\n\r\n"));
  EXPECT_EQ(response_to_dripping(small, std::string(100, 'x')), "HTTP/1.1 200");  // at 5 kB/s
  RawClient large = client();
  ASSERT_TRUE(large.send(head + "1000000\r\n\r\n"));
  EXPECT_EQ(response_to_dripping(large, std::string(100, 'x')), "HTTP/1.1 408");  // of 100 kB/s
}

TEST_F(TimeLimits, ABodyThatTakesTooLongGets408WhateverItsRate) {
  Limits limits;
  limits.body_timeout = milliseconds(500);
  start(limits);
  RawClient one = client();
  ASSERT_TRUE(one.send("POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_EQ(response_to_dripping(one, "64\r\n" + std::string(100, 'x') + "\r\n"), "HTTP/1.1 408");
}

TEST_F(TimeLimits, AStalledReaderIsDisconnectedAndOthersAreServed) {
  Limits limits;
  limits.write_stall_timeout = milliseconds(500);
  application.on_run = [](const Request& request, const Responder& responder) {
    responder.send(text_reply(request.head.path == "/big" ? std::string(50 * kMegabyte, 'x') : "small"));
  };
  start(limits);
  RawClient stalled = client(4096);
  ASSERT_TRUE(stalled.send(get("/big")));
  RawClient other = client();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(other.send(get("/")));
    const auto reply = other.reply();
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->body, "small");
  }
  EXPECT_TRUE(wait_until([&] { return server->stats().timeouts_total == 1; }));
  const auto reply = stalled.reply();
  ASSERT_TRUE(reply);
  EXPECT_FALSE(reply->complete);
}

TEST_F(TimeLimits, ASlowReaderThatTakesSomethingGetsItAll) {
  Limits limits;
  limits.write_stall_timeout = milliseconds(2'000);
  application.on_run = [](Request, const Responder& responder) {
    responder.send(text_reply(std::string(8 * kMegabyte, 'x')));
  };
  start(limits);
  RawClient slow = client(4096);
  ASSERT_TRUE(slow.send(get("/")));
  const auto reply = slow.reply();
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->complete);
  EXPECT_EQ(reply->body.size(), 8 * kMegabyte);
}

TEST_F(TimeLimits, AnIdleConnectionIsClosedWithoutAResponse) {
  Limits limits;
  limits.idle_timeout = milliseconds(200);
  start(limits);
  RawClient fresh = client();
  RawClient used = client();
  ASSERT_TRUE(used.send(get("/")));
  ASSERT_TRUE(used.reply());
  EXPECT_EQ(fresh.until_end(), "");
  EXPECT_EQ(used.until_end(), "");
}

TEST_F(TimeLimits, APendingRequestHasNoTimeLimitHere) {
  Limits limits;
  limits.head_timeout = limits.body_stall_timeout = limits.idle_timeout = milliseconds(100);
  application.on_run = [&](Request, const Responder& responder) { parked.park(responder); };
  start(limits);
  RawClient pending = client();
  ASSERT_TRUE(pending.send(get("/")));
  const Responder responder = parked.next();
  RawClient idle = client();
  EXPECT_EQ(idle.until_end(), "");  // the ticker has checked both connections
  EXPECT_TRUE(responder.send(text_reply("late")));
  EXPECT_EQ(pending.reply()->body, "late");
}

TEST_F(TimeLimits, AClientThatStaysAfterAnErrorIsCutWhenTheLingerIsOver) {
  Limits limits;
  limits.linger = milliseconds(200);
  start(limits);
  RawClient one = client();
  ASSERT_TRUE(one.send("nonsense\r\n\r\n"));
  ASSERT_TRUE(one.reply());
  EXPECT_TRUE(wait_until([&] { return server->stats().connections_open == 0; }));
}

TEST_F(TimeLimits, AConnectionPastTheBoundGets503IfAllOthersAreBusy) {
  Limits limits;
  limits.connections_max = 2;
  application.on_run = [&](Request request, const Responder& responder) {
    if (request.head.path == "/busy") return parked.park(responder);
    responder.send(text_reply("done"));
  };
  start(limits);
  RawClient one = client();
  RawClient two = client();
  ASSERT_TRUE(one.send(get("/busy")));
  ASSERT_TRUE(two.send(get("/busy")));
  const Responder first = parked.next(), second = parked.next();
  RawClient three = client();
  const auto refused = three.reply();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_TRUE(three.ends());
  three.close();
  two.close();
  ASSERT_TRUE(wait_until([&] { return server->stats().connections_open == 1; }));
  EXPECT_EQ(send_request(get("/"))->status, 200);
  EXPECT_EQ(server->stats().refused_total, 1u);
}

}  // namespace
}  // namespace millrace::front::test

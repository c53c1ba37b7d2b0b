#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "platform/base/fd.h"
#include "platform/net/http/http_client.h"
#include "platform/net/http/plain_body.h"
#include "tests/support/answer.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/providers/scripted_upstream.h"

// Behaviour of our HTTP client that differs from curl's, or that curl does not have.
namespace millrace::net {
namespace {

using providers::testing::ScriptedUpstream;
using Exchange = ScriptedUpstream::Exchange;
using std::chrono::milliseconds;

constexpr std::string_view kTwo = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

class PlainHttpTest : public ::testing::Test {
 protected:
  base::Result<HttpReply> ask(HttpRequest request) { return client_.fetch_blocking(std::move(request)); }
  static HttpRequest post(const ScriptedUpstream& upstream, std::string body = "{}") {
    HttpRequest request;
    request.method = "POST";
    request.url = upstream.base_url() + "/x";
    request.body = std::move(body);
    return request;
  }
  Loop loop_{"test"};
  HttpClient client_{loop_};
};

TEST_F(PlainHttpTest, AReplyMayBeCutAtEveryByteAndIsWholeOnlyAtItsEnd) {
  for (const std::string& reply :
       {std::string("HTTP/1.1 100 Continue\r\n\r\n").append(kTwo),
        std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")}) {
    for (std::size_t length = 0; length <= reply.size(); ++length) {
      ScriptedUpstream upstream([&](Exchange& exchange) {
        exchange.send(reply.substr(0, length));
        exchange.close();
      });
      const auto answer = ask(post(upstream));
      EXPECT_EQ(length == reply.size(), answer.has_value()) << length;
      EXPECT_EQ(answer ? "ok" : "", answer ? answer->body : "") << length;
      EXPECT_TRUE(answer || answer.error().code == base::Code::kUpstream) << length;
      EXPECT_EQ(1, upstream.connections()) << "a failed request on a new connection must not be retried";
    }
  }
}

// A rule of both transports: a reader that learns the kind of a reply from its head needs the head of an
// empty reply, too.
class EmptyReply : public ::testing::TestWithParam<PlainHttp> {};
INSTANTIATE_TEST_SUITE_P(Transports, EmptyReply, ::testing::Values(PlainHttp::kBuiltIn, PlainHttp::kCurl));

TEST_P(EmptyReply, HasAHeadBeforeItsEnd) {
  Loop loop("test");
  HttpClient client(loop, GetParam());
  for (const std::string framing :
       {"Content-Length: 0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}) {
    ScriptedUpstream upstream([&](Exchange& exchange) { exchange.send("HTTP/1.1 200 OK\r\n" + framing); });
    HttpRequest request;
    request.url = upstream.base_url() + "/x";
    std::vector<int> heads;
    HttpClient::Handlers handlers;
    handlers.on_head = [&](const HttpReply& head) { heads.push_back(head.status); };
    handlers.on_data = [](std::string_view) { return true; };
    const auto reply = client.fetch_blocking(std::move(request), std::move(handlers));
    ASSERT_TRUE(reply) << framing;
    EXPECT_EQ(200, reply->status);
    EXPECT_EQ(std::vector<int>{200}, heads) << framing;
  }
}

TEST_P(EmptyReply, MayBeCancelledAtItsHead) {
  Loop loop("test");
  HttpClient client(loop, GetParam());
  ScriptedUpstream upstream([](Exchange& exchange) { exchange.send("HTTP/1.1 204 No Content\r\n\r\n"); });
  HttpRequest request;
  request.url = upstream.base_url() + "/x";
  const auto head_read = std::make_shared<std::promise<void>>();
  std::shared_ptr<HttpClient::Transfer> transfer;
  HttpClient::Handlers handlers;
  handlers.on_head = [&, head_read](const HttpReply&) {
    client.cancel(transfer);
    head_read->set_value();
  };
  loop.post([&] { transfer = client.start(std::move(request), std::move(handlers)); });
  head_read->get_future().wait();
}

TEST_F(PlainHttpTest, AReplyInSingleBytesIsTheSame) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    for (const char c : kTwo) exchange.send(std::string_view(&c, 1));
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ("ok", ask(post(upstream)).value().body);
  EXPECT_EQ(1, upstream.connections());
}

TEST_F(PlainHttpTest, AKeptConnectionThatDiesWithoutAReplyIsFollowedByAFreshOneOnce) {
  std::atomic<int> asked = 0;
  ScriptedUpstream upstream([&](Exchange& exchange) {
    const int number = ++asked;
    if (number == 1 || number == 3) exchange.send(kTwo);
    if (number != 1) exchange.close();
  });
  EXPECT_TRUE(ask(post(upstream)));
  EXPECT_TRUE(ask(post(upstream))) << "request 2 failed with the kept connection, request 3 was its retry";
  EXPECT_EQ(3, asked);
  EXPECT_FALSE(ask(post(upstream))) << "request 4 used a new connection, so it is not retried";
  EXPECT_EQ(4, asked);
}

TEST_P(EmptyReply, ARequestThatReportsIsSentOnceOnAKeptConnection) {
  Loop loop("test");
  HttpClient client(loop, GetParam());
  std::atomic<int> sent = 0;
  std::string body;
  ScriptedUpstream upstream([&](Exchange& exchange) {
    body = exchange.body;
    ++sent == 2 ? exchange.close() : static_cast<void>(exchange.send(kTwo));
  });
  HttpRequest request;
  request.method = "POST";
  request.url = upstream.base_url() + "/x";
  request.body = std::string(200'000, 'x');
  request.reports_unanswered = true;
  ASSERT_TRUE(client.fetch_blocking(request));
  const auto unanswered = client.fetch_blocking(request);
  ASSERT_FALSE(unanswered);
  EXPECT_TRUE(unanswered.error().is_unanswered && unanswered.error().is_free);
  EXPECT_EQ("request failed: the connection was closed without a reply", unanswered.error().message);
  EXPECT_EQ(2, sent);
  ASSERT_TRUE(client.fetch_blocking(request));
  EXPECT_EQ(request.body, body);
  ScriptedUpstream closed([&](Exchange& exchange) { exchange.close(); });
  request.url = closed.base_url() + "/x";
  const auto failed = client.fetch_blocking(request);
  ASSERT_FALSE(failed);
  EXPECT_FALSE(failed.error().is_unanswered || failed.error().is_free) << "the connection was new";
}

TEST_F(PlainHttpTest, ARequestWhoseKeptConnectionBreaksInsideTheReplyIsNotRepeated) {
  std::atomic<int> asked = 0;
  ScriptedUpstream upstream([&](Exchange& exchange) {
    if (++asked == 1) {
      exchange.send(kTwo);
      return;
    }
    exchange.send("H");
    exchange.close();
  });
  EXPECT_TRUE(ask(post(upstream)));
  EXPECT_FALSE(ask(post(upstream)));
  EXPECT_EQ(2, asked);
}

TEST_F(PlainHttpTest, AConnectionThatSentMoreThanItsReplyIsNotKept) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send(std::string(kTwo).append("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"));
  });
  for (int i = 0; i < 3; ++i) EXPECT_EQ("ok", ask(post(upstream)).value().body);
  EXPECT_EQ(3, upstream.connections());
}

TEST_F(PlainHttpTest, TheAddressOfAKeptConnectionIsCheckedAgain) {
  ScriptedUpstream upstream([](Exchange& exchange) { exchange.send(kTwo); });
  EXPECT_TRUE(ask(post(upstream)));
  HttpRequest strict = post(upstream);
  strict.address_filter = [](const sockaddr&) -> base::Status {
    return base::error(base::Code::kFetchRefused, "private");
  };
  const auto refused = ask(std::move(strict));
  ASSERT_FALSE(refused);
  EXPECT_EQ(base::Code::kFetchRefused, refused.error().code);
}

TEST_F(PlainHttpTest, ARequestWithOwnConnectionSharesNone) {
  ScriptedUpstream upstream([](Exchange& exchange) { exchange.send(kTwo); });
  for (int i = 0; i < 2; ++i) {
    HttpRequest request = post(upstream);
    request.own_connection = true;
    EXPECT_TRUE(ask(std::move(request)));
  }
  EXPECT_EQ(2, upstream.connections());
}

TEST_F(PlainHttpTest, AHeadThatNeverEndsIsBoundedAndTheBoundNamed) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send("HTTP/1.1 200 OK\r\nX: ");
    while (exchange.send(std::string(4096, 'x'))) {
    }
    exchange.close();
  });
  const auto answer = ask(post(upstream));
  ASSERT_FALSE(answer);
  EXPECT_NE(std::string::npos, answer.error().message.find(std::to_string(kReplyHeadBytesMax)))
      << answer.error().message;
}

TEST_F(PlainHttpTest, WhatIsNoHttpIsSeenAtItsFirstBytes) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send("\x15\x03\x01");
    EXPECT_TRUE(exchange.client_leaves());
    exchange.close();
  });
  EXPECT_FALSE(ask(post(upstream)));
}

TEST_F(PlainHttpTest, NamesAreLookedUp) {
  ScriptedUpstream upstream([](Exchange& exchange) { exchange.send(kTwo); });
  HttpRequest request = post(upstream);
  request.url.replace(request.url.find("127.0.0.1"), 9, "localhost");
  for (int i = 0; i < 2; ++i) EXPECT_EQ("ok", ask(request).value().body);
  request.url = "http://nobody.invalid/";
  const auto unknown = ask(request);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(base::Code::kUpstream, unknown.error().code);
}

TEST_F(PlainHttpTest, ALargeBodyGoesOutWhileTheOtherSideReadsSlowly) {
  std::size_t got = 0;
  ScriptedUpstream upstream([&](Exchange& exchange) {
    got = exchange.body.size();
    exchange.send(kTwo);
  });
  EXPECT_TRUE(ask(post(upstream, std::string(std::size_t{20} << 20, 'x'))));
  EXPECT_EQ(std::size_t{20} << 20, got);
}

TEST_F(PlainHttpTest, ABodyIsSentFromAFileAndAgainOnAFreshConnection) {
  const support::TempDir folder;
  const std::string content(std::size_t{3} << 20, 'f');
  const base::Fd file(::open(folder.write("body", content + "rest").c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<std::string> bodies, methods;
  ScriptedUpstream upstream([&](Exchange& exchange) {
    bodies.push_back(exchange.body);
    methods.push_back(exchange.head.substr(0, 4));
    bodies.size() == 2 ? exchange.close() : static_cast<void>(exchange.send(kTwo));
  });
  HttpRequest request = post(upstream, {});
  request.method = "PUT";
  request.body_file = file.get();
  request.body_file_bytes = static_cast<std::int64_t>(content.size());
  EXPECT_TRUE(ask(request));
  EXPECT_TRUE(ask(request)) << "the kept connection is closed without a reply";
  ASSERT_EQ(3u, bodies.size());
  for (const std::string& body : bodies) EXPECT_TRUE(body == content) << body.size();
  EXPECT_EQ((std::vector<std::string>(3, "PUT ")), methods);
}

TEST_F(PlainHttpTest, ABodyFromAFileThatIsTooShortFailsTheRequest) {
  const support::TempDir folder;
  const base::Fd file(::open(folder.write("body", "short").c_str(), O_RDONLY | O_CLOEXEC));
  ScriptedUpstream upstream([](Exchange& exchange) { exchange.send(kTwo); });
  HttpRequest request = post(upstream, {});
  request.body_file = file.get();
  request.body_file_bytes = 6;
  EXPECT_FALSE(ask(request));
}

TEST_F(PlainHttpTest, AReplyWithACodingThatWasNotRequestedIsAnError) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\nok");
  });
  HttpRequest request = post(upstream);
  request.identity_encoding = false;
  EXPECT_FALSE(ask(std::move(request)));
}

TEST_F(PlainHttpTest, OneMayStartAndCancelFromWithinAHandler) {
  ScriptedUpstream upstream([](Exchange& exchange) { exchange.send(kTwo); });
  support::Answer<HttpReply> second;
  HttpClient::Handlers next;
  next.on_done = second.take();
  std::shared_ptr<HttpClient::Transfer> first;
  HttpClient::Handlers hear;
  hear.on_data = [&](std::string_view) {
    client_.start(post(upstream), next);
    client_.cancel(first);
    return false;
  };
  loop_.post([&] { first = client_.start(post(upstream), hear); });
  EXPECT_EQ("ok", second.wait().value().body);
}

TEST_F(PlainHttpTest, ATransferThatRunsWhenTheClientIsDestroyedIsNotNotified) {
  support::Answer<int> there;
  const auto is_there = there.take();
  ScriptedUpstream upstream([&](Exchange& exchange) {
    is_there(1);
    EXPECT_TRUE(exchange.client_leaves());
    exchange.close();
  });
  Loop loop("test");
  {
    HttpClient client(loop);
    HttpClient::Handlers hear;
    hear.on_done = [](const base::Result<HttpReply>&) { FAIL(); };
    client.start(post(upstream), std::move(hear));
    EXPECT_TRUE(there.wait());
  }
}

// Processes shared replies, as a front thread does, until `done`.
void take_until(HttpClient& client, int handed_over, const std::function<bool()>& done) {
  const int set = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.u64 = 0}};
  ASSERT_EQ(0, ::epoll_ctl(set, EPOLL_CTL_ADD, handed_over, &event));
  const auto until = std::chrono::steady_clock::now() + support::kDeadline;
  while (!done() && std::chrono::steady_clock::now() < until) {
    if (::epoll_wait(set, &event, 1, 50) > 0) client.run_shared_replies();
  }
  ::close(set);
}

TEST_F(PlainHttpTest, SharedRepliesAreReceivedByTheSharingThread) {
  ScriptedUpstream upstream([](Exchange& exchange) { exchange.send(kTwo); });
  const int handed_over = client_.share_replies();
  ASSERT_GE(handed_over, 0);
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> heard = false;
    HttpClient::Handlers handlers;
    handlers.on_done = [&](const base::Result<HttpReply>& reply) { heard = reply && reply->body == "ok"; };
    loop_.run_inline_if_idle([&] { client_.start(post(upstream), std::move(handlers)); });
    take_until(client_, handed_over, [&] { return heard.load(); });
    ASSERT_TRUE(heard);
  }
}

TEST_F(PlainHttpTest, ACloseThatArrivesWithASharedReplyIsReceived) {
  ScriptedUpstream upstream([](Exchange& exchange) {
    exchange.send("HTTP/1.1 200 OK\r\n\r\nok");
    exchange.close();
  });
  const int handed_over = client_.share_replies();
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> heard = false;
    HttpClient::Handlers handlers;
    handlers.on_done = [&](const base::Result<HttpReply>& reply) { heard = reply && reply->body == "ok"; };
    loop_.run_inline_if_idle([&] { client_.start(post(upstream), std::move(handlers)); });
    take_until(client_, handed_over, [&] { return heard.load(); });
    ASSERT_TRUE(heard) << round;
  }
}

TEST_F(PlainHttpTest, ALongSharedReplyIsReceivedCompletely) {
  const std::string body(8u << 20, 'x');
  ScriptedUpstream upstream([&](Exchange& exchange) {
    exchange.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  });
  const int handed_over = client_.share_replies();
  std::atomic<bool> heard = false;
  HttpClient::Handlers handlers;
  handlers.on_done = [&](const base::Result<HttpReply>& reply) { heard = reply && reply->body == body; };
  loop_.run_inline_if_idle([&] { client_.start(post(upstream), std::move(handlers)); });
  take_until(client_, handed_over, [&] { return heard.load(); });
  EXPECT_TRUE(heard);
}

TEST_F(PlainHttpTest, RepliesAreReceivedByTheLoopAfterSharingEnds) {
  ScriptedUpstream upstream([](Exchange& exchange) { exchange.send(kTwo); });
  for (int round = 0; round < 3; ++round) {
    ASSERT_GE(client_.share_replies(), 0);
    client_.end_shared_replies();
    EXPECT_TRUE(ask(post(upstream)));
  }
}

TEST_F(PlainHttpTest, AClientThatSharesItsRepliesMayBeDestroyed) { ASSERT_GE(client_.share_replies(), 0); }

TEST_F(PlainHttpTest, ATimeOutOfTheConnectionIsNamed) {
  HttpRequest request;
  request.url = "http://192.0.2.1:9/";
  request.connect_timeout = milliseconds(30);
  const auto answer = ask(std::move(request));
  ASSERT_FALSE(answer);
  if (answer.error().code == base::Code::kUpstream) GTEST_SKIP() << "no route: " << answer.error().message;
  EXPECT_EQ("no connection was made (time-out connect: 30 ms)", answer.error().message);
}

}  // namespace
}  // namespace millrace::net

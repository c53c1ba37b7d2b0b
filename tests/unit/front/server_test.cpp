#include "api/front/server.h"

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/support/wait_until.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

using std::chrono::milliseconds;
using support::wait_until;

class FrontServer : public Served {
 protected:
  Signal answered, told, ended;
  std::atomic<bool> on_front = false;
  std::atomic<std::thread::id> front{};
  std::atomic<int> asked = 0;
  std::atomic<bool> due = true;
};

TEST_F(FrontServer, NamesTheAddressThatItCannotBind) {
  start();
  Server::Options options;
  options.port = server->port();
  Server second(options, application);
  const auto started = second.start();
  ASSERT_FALSE(started.has_value());
  EXPECT_NE(started.error().message.find("127.0.0.1:" + std::to_string(server->port())), std::string::npos)
      << started.error().message;
  EXPECT_EQ(send_request(get("/"))->status, 200);
}

TEST_F(FrontServer, NamesTheHostThatHasNoAddress) {
  Server::Options options;
  options.host = "no such host";
  options.port = 0;
  const auto started = Server(options, application).start();
  ASSERT_FALSE(started.has_value());
  EXPECT_NE(started.error().message.find("no such host:0"), std::string::npos) << started.error().message;
}

TEST_F(FrontServer, HandlesOtherDescriptorsOfItsThread) {
  const int extra_fds = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  application.on_run = [&](Request, Responder responder) {
    front = std::this_thread::get_id();
    responder.send({});
  };
  Server::Options options{.host = "127.0.0.1", .port = 0, .threads = 1, .limits = {}};
  const auto on_ready = [&] {
    on_front = front.load() == std::this_thread::get_id();
    told.set();
  };
  options.extra_fds.push_back({.begin = [] { return -1; }, .ready = [] {}, .end = [] {}});
  options.extra_fds.push_back(
      {.begin = [=] { return extra_fds; }, .ready = on_ready, .end = [&] { ended.set(); }});
  server.emplace(std::move(options), application);
  ASSERT_TRUE(server->start());
  EXPECT_EQ(send_request(get("/"))->status, 200);
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(extra_fds, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  EXPECT_TRUE(told.wait());
  EXPECT_TRUE(on_front);
  EXPECT_EQ(send_request(get("/"))->status, 200);
  EXPECT_FALSE(ended.is_set());
  server->stop();
  EXPECT_TRUE(ended.is_set());
  ::close(extra_fds);
}

// The thread polls repeatedly for due replies without an event, and serves its clients meanwhile.
TEST_F(FrontServer, KeepsSpinningWhileManyRepliesAreDue) {
  constexpr std::size_t kMany = 8;
  const int extra_fds = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  application.on_run = [&](Request request, Responder responder) {
    if (request.head.path == "/now") {
      responder.send({});
    } else {
      parked.park(std::move(responder));
    }
  };
  Server::Options options{.host = "127.0.0.1", .port = 0, .threads = 1, .limits = {}};
  options.limits.due_poll = std::chrono::seconds(60);
  options.extra_fds.push_back({.begin = [=] { return extra_fds; },
                               .ready = [] {},
                               .end = [] {},
                               .due = [&] { return ++asked, due.load(); }});
  server.emplace(std::move(options), application);
  ASSERT_TRUE(server->start());
  std::deque<RawClient> clients;
  for (std::size_t i = 0; i < kMany; ++i) {
    EXPECT_EQ(send_request(get("/now"))->status, 200);
    EXPECT_EQ(asked, 0) << "with " << i << " pending replies";
    ASSERT_TRUE(clients.emplace_back(server->port()).send(get("/later")));
    ASSERT_TRUE(wait_until([&] { return application.ran() == 2 * (i + 1); }));
  }
  EXPECT_TRUE(wait_until([&] { return asked > 1000; }));
  EXPECT_EQ(send_request(get("/now"))->status, 200);
  due = false;
  for (std::size_t i = 0; i < kMany; ++i) parked.next().send({});
  for (RawClient& client : clients) EXPECT_EQ(client.reply()->status, 200);
  server->stop();
  ::close(extra_fds);
}

TEST_F(FrontServer, ServesOnAnIpv6Address) {
  start({}, "::1");
  RawClient one(server->port(), 0, "::1");
  if (!one.connected()) GTEST_SKIP() << "this machine has no IPv6 loopback";
  ASSERT_TRUE(one.send(get("/")));
  EXPECT_EQ(one.reply()->body, "GET / ");
  EXPECT_EQ(application.admitted().front().peer, "::1");
}

TEST_F(FrontServer, ServesOnEveryAddressAndByName) {
  start({}, "0.0.0.0");
  EXPECT_EQ(send_request(get("/"))->status, 200);
  server.reset();
  start({}, "localhost");
  EXPECT_GT(server->port(), 0);
}

TEST_F(FrontServer, StartsAndStopsAnyNumberOfTimesOver) {
  for (int i = 0; i < 20; ++i) {
    start();
    server->stop();
    server->stop();
  }
}

TEST_F(FrontServer, ServesWithTwoThreads) {
  Server::Options options;
  options.port = 0;
  options.threads = 2;
  Server two(options, application);
  ASSERT_TRUE(two.start().has_value());
  for (int i = 0; i < 20; ++i) {
    RawClient one(two.port());
    ASSERT_TRUE(one.send(get("/" + std::to_string(i))));
    EXPECT_EQ(one.reply()->body, "GET /" + std::to_string(i) + " ");
  }
}

TEST_F(FrontServer, AResponderMayOutliveIt) {
  application.on_run = [&](Request, const Responder& responder) { parked.park(responder); };
  start();
  RawClient one = client();
  ASSERT_TRUE(one.send(get("/")));
  const Responder responder = parked.next();
  server.reset();
  EXPECT_FALSE(responder.alive());
  EXPECT_FALSE(responder.send(text_reply("late")));
  responder.on_gone([] { ADD_FAILURE() << "no thread may run this callback"; });
}

TEST_F(FrontServer, RefusingShutsIdleConnectionsAndAnswers503) {
  application.on_run = [&](Request, const Responder& responder) { parked.park(responder); };
  start();
  RawClient idle = client();
  RawClient busy = client();
  RawClient uploading = client();
  ASSERT_TRUE(busy.send(get("/")));
  const Responder responder = parked.next();
  ASSERT_TRUE(uploading.send("POST /u HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n1"));
  ASSERT_TRUE(wait_until([&] { return application.admitted().size() == 2; }));
  ASSERT_TRUE(wait_until([&] { return server->stats().connections_open == 3; }));
  server->refuse_new();
  EXPECT_EQ(idle.until_end(), "");
  EXPECT_EQ(send_request(get("/new"))->status, 503);
  ASSERT_TRUE(uploading.send("2"));
  EXPECT_EQ(uploading.reply()->status, 503);
  EXPECT_EQ(server->drain(milliseconds(10)), 1u);
  ASSERT_TRUE(responder.send(text_reply("done")));
  const auto reply = busy.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->headers.at("connection"), "close");
  EXPECT_EQ(server->drain(kTimeLimit), 0u);
}

TEST_F(FrontServer, WhatIsAdmittedForADrainIsAnsweredWhileItDrains) {
  application.on_admit = [](const Head& head) -> Admission {
    return Admit{.body_max = 100, .while_draining = head.path == "/alive"};
  };
  start();
  server->refuse_new();
  EXPECT_EQ(send_request(get("/other"))->status, 503);
  const auto alive = send_request(get("/alive"));
  ASSERT_TRUE(alive);
  EXPECT_EQ(alive->status, 200);
  EXPECT_EQ(alive->headers.at("connection"), "close");
  EXPECT_EQ(server->drain(kTimeLimit), 0u);
}

TEST_F(FrontServer, DrainWaitsForOutputThatHasNotLeft) {
  application.on_run = [this](Request, const Responder& responder) {
    responder.send(text_reply(std::string(20 * kMegabyte, 'x')));
    answered.set();
  };
  start();
  RawClient slow = client(4096);
  ASSERT_TRUE(slow.send(get("/")));
  ASSERT_TRUE(answered.wait());  // with keep-alive: the drain starts later and still ends the connection
  std::atomic<bool> drained{false};
  std::jthread drainer([&] {
    EXPECT_EQ(server->drain(kTimeLimit), 0u);
    drained = true;
  });
  EXPECT_EQ(slow.bytes(kMegabyte).size(), kMegabyte);
  EXPECT_FALSE(drained);
  const auto rest = slow.until_end();
  ASSERT_TRUE(rest);
  EXPECT_GT(rest->size(), 19 * kMegabyte);
}

// The results of clients while the server drains: each response is complete and correct, or a 503, or did not
// begin.
struct ServerTally {
  std::atomic<std::size_t> answered{0}, refused{0};
  std::atomic<bool> wrong{false};
};

void send_until_refused(std::uint16_t port, int number, ServerTally& tally) {
  for (int i = 0;; ++i) {
    RawClient one(port);
    for (int j = 0; j < 10; ++j) {
      const std::string path =
          "/" + std::to_string(number) + "-" + std::to_string(i) + "-" + std::to_string(j);
      const bool sent = one.send(get(path));
      const auto reply = sent ? one.reply() : std::nullopt;
      if (!reply) break;
      if (reply->status == 503) {
        ++tally.refused;
        return;
      }
      if (!reply->complete || reply->body != path) tally.wrong = true;
      ++tally.answered;
      if (reply->has("connection")) break;
    }
  }
}

TEST_F(FrontServer, DrainUnderLoadLosesNoRequestThatRan) {
  application.on_run = [](const Request& request, const Responder& responder) {
    std::string path = request.head.path;
    responder.send(text_reply(std::move(path)));
  };
  start();
  ServerTally tally;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 4; ++i) clients.emplace_back([&, i] { send_until_refused(server->port(), i, tally); });
  ASSERT_TRUE(wait_until([&] { return tally.answered > 500; }));
  EXPECT_EQ(server->drain(kTimeLimit), 0u);
  clients.clear();
  EXPECT_FALSE(tally.wrong);
  EXPECT_EQ(tally.refused, 4u);
  EXPECT_EQ(tally.answered, application.ran());
}

}  // namespace
}  // namespace millrace::front::test

#include <thread>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "api/front/output.h"
#include "tests/support/wait_until.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

using std::chrono::milliseconds;
using support::wait_until;

// Reports in which order sockets became readable. The kernel lists them in that order.
class Arrivals {
 public:
  ~Arrivals() { ::close(fd_); }

  void watch(const RawClient& client) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.fd = client.fd();
    ASSERT_EQ(::epoll_ctl(fd_, EPOLL_CTL_ADD, client.fd(), &event), 0);
  }
  // The next socket; -1: none within `patience`.
  int next(milliseconds patience = kTimeLimit) const {
    epoll_event event{};
    return ::epoll_wait(fd_, &event, 1, static_cast<int>(patience.count())) == 1 ? event.data.fd : -1;
  }

 private:
  int fd_ = ::epoll_create1(EPOLL_CLOEXEC);
};

class ReplyUnderACork : public Served {
 protected:
  void SetUp() override {
    application.on_run = [this](Request, const Responder& responder) { parked.park(responder); };
  }
  // Sends a request, which is parked, and returns its responder.
  Responder request_of(RawClient& one) {
    EXPECT_TRUE(one.send(get("/")));
    return parked.next();
  }
  void gone(std::uint64_t left) {
    ASSERT_TRUE(wait_until([&] { return server->stats().connections_open == left; }));
  }

  std::optional<Cork> cork;
};

TEST_F(ReplyUnderACork, LeavesInTheOrderOfTheCallsWhenItEndsAndNotBefore) {
  start();
  std::vector<RawClient> clients;
  std::vector<Responder> pending;
  Arrivals arrivals;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(client());
    arrivals.watch(clients.back());
    pending.push_back(request_of(clients.back()));
  }
  const std::vector<std::size_t> order = {4, 0, 5, 2, 1, 3};
  cork.emplace();
  for (const std::size_t i : order) EXPECT_TRUE(pending[i].send(text_reply("for " + std::to_string(i))));
  EXPECT_EQ(arrivals.next(milliseconds(20)), -1);
  cork.reset();
  for (const std::size_t i : order) EXPECT_EQ(arrivals.next(), clients[i].fd()) << i;
  for (const std::size_t i : order) EXPECT_EQ(clients[i].reply()->body, "for " + std::to_string(i));
}

TEST_F(ReplyUnderACork, LeavesTheConnectionUsable) {
  start();
  RawClient one = client();
  const Responder first = request_of(one);
  ASSERT_TRUE(one.send(get("/next")));  // it waits behind the held reply
  cork.emplace();
  EXPECT_TRUE(first.send(text_reply("first")));
  EXPECT_FALSE(first.send(text_reply("again")));
  EXPECT_FALSE(first.alive());
  EXPECT_EQ(application.ran(), 1u);
  cork.reset();
  EXPECT_EQ(one.reply()->body, "first");
  EXPECT_TRUE(parked.next().send(text_reply("second")));
  EXPECT_EQ(one.reply()->body, "second");
}

TEST_F(ReplyUnderACork, ThatIsLargerThanTheSocketTakesArrivesWhole) {
  start();
  RawClient one = client(4096);
  const Responder responder = request_of(one);
  std::string body(4 * kMegabyte, 'x');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 23);
  cork.emplace();
  EXPECT_TRUE(responder.send(text_reply(body)));
  cork.reset();
  EXPECT_TRUE(one.reply()->body == body);
}

TEST_F(ReplyUnderACork, ToAClientThatLeftMeanwhileIsDroppedAndTheOthersLeave) {
  start();
  RawClient leaves = client();
  RawClient resets = client();
  RawClient stays = client();
  const std::vector<Responder> pending = {request_of(leaves), request_of(resets), request_of(stays)};
  cork.emplace();
  for (const Responder& responder : pending) EXPECT_TRUE(responder.send(text_reply("held")));
  leaves.close();
  resets.reset();
  gone(1);
  RawClient heir = client();  // its descriptor may have the number of a closed client
  const Responder fresh = request_of(heir);
  cork.reset();
  EXPECT_EQ(stays.reply()->body, "held");
  EXPECT_TRUE(fresh.send(text_reply("its own")));
  EXPECT_EQ(heir.reply()->body, "its own");
}

TEST_F(ReplyUnderACork, OutlivesTheServer) {
  start();
  RawClient one = client();
  const Responder responder = request_of(one);
  cork.emplace();
  EXPECT_TRUE(responder.send(text_reply("too late")));
  one.close();
  gone(0);
  server->stop();
  server.reset();
  cork.reset();
}

// A held reply does not count as a client that reads nothing, however old its connection is.
TEST_F(ReplyUnderACork, IsNotCutByTheWriteStallLimit) {
  Limits limits;
  limits.idle_timeout = milliseconds(100);
  limits.write_stall_timeout = std::chrono::seconds(20);
  start(limits);
  RawClient one = client();
  const Responder responder = request_of(one);
  cork.emplace();
  EXPECT_TRUE(responder.send(text_reply("late")));
  RawClient idle = client();
  EXPECT_EQ(idle.until_end(), "");  // the ticker has checked both connections
  EXPECT_EQ(server->stats().timeouts_total, 1u);
  cork.reset();
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "late");
}

TEST_F(ReplyUnderACork, IsNotAStream) {
  start();
  RawClient one = client();
  const Responder stream = request_of(one);
  cork.emplace();
  Reply head;
  head.content_type = "text/event-stream";
  EXPECT_TRUE(stream.start_stream(head));
  EXPECT_TRUE(stream.write("data: 1\n\n"));
  EXPECT_TRUE(stream.end());
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->body, "data: 1\n\n");
  cork.reset();
}

TEST_F(ReplyUnderACork, IsOneOfItsOwnThread) {
  start();
  RawClient one = client();
  const Responder responder = request_of(one);
  cork.emplace();
  std::jthread([&] {
    EXPECT_EQ(Cork::current(), nullptr);
    EXPECT_TRUE(responder.send(text_reply("now")));
  }).join();
  EXPECT_EQ(one.reply()->body, "now");
  cork.reset();
  EXPECT_EQ(Cork::current(), nullptr);
}

}  // namespace
}  // namespace millrace::front::test

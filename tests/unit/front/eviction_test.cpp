// Which connection is closed for a new one at Limits::connections_max.
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

using std::chrono::milliseconds;

class Eviction : public Served {
 protected:
  static constexpr std::size_t kMost = 8;  // one address may have two without a key

  // Requests to /key… have a valid key; those to …/busy are not answered.
  void SetUp() override {
    application.on_admit = [](const Head& head) {
      return Admit{.body_max = kMegabyte, .authenticated = head.path.starts_with("/key")};
    };
    application.on_run = [this](Request request, const Responder& responder) {
      if (request.head.path.ends_with("/busy")) return parked.park(responder);
      responder.send(text_reply("done"));
    };
    Limits limits;
    limits.connections_max = kMost;
    start(limits);
  }
  RawClient client_at(const char* address) { return RawClient(server->port(), 0, "127.0.0.1", address); }
  // Opens connections that send nothing, until `count` are open.
  void fill(const char* address, std::size_t count) {
    while (server->stats().connections_open < count) {
      const std::size_t before = server->stats().connections_open;
      silent.push_back(client_at(address));
      ASSERT_TRUE(silent.back().connected());
      ASSERT_TRUE(support::wait_until([&] { return server->stats().connections_open > before; }));
    }
  }
  static int status_of(RawClient& client, const std::string& path) {
    if (!client.send(get(path))) return 0;
    const auto reply = client.reply();
    return reply ? reply->status : 0;
  }
  static bool is_open(RawClient& client) { return !client.ends(milliseconds(50)); }

  std::vector<RawClient> silent;
};

TEST_F(Eviction, TheOldestSilentConnectionGoesForANewOne) {
  fill("127.0.0.1", kMost);
  RawClient fresh = client_at("127.0.0.2");
  EXPECT_EQ(status_of(fresh, "/"), 200);
  EXPECT_TRUE(silent[0].ends());
  EXPECT_TRUE(is_open(silent[1]));
  EXPECT_EQ(server->stats().evicted_total, 1u);
  EXPECT_EQ(server->stats().refused_total, 0u);
}

TEST_F(Eviction, AnAddressAboveItsShareLosesItsOwnOldest) {
  RawClient other = client_at("127.0.0.2");
  ASSERT_TRUE(support::wait_until([&] { return server->stats().connections_open == 1; }));
  fill("127.0.0.1", kMost);
  RawClient fresh = client_at("127.0.0.1");
  EXPECT_EQ(status_of(fresh, "/"), 200);
  EXPECT_TRUE(silent[0].ends());
  EXPECT_TRUE(is_open(other));
}

TEST_F(Eviction, ThePartOfARequestSavesNobody) {
  RawClient head = client_at("127.0.0.1"), body = client_at("127.0.0.1");
  ASSERT_TRUE(head.send("GET / HT"));
  ASSERT_TRUE(body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf"));
  ASSERT_TRUE(support::wait_until([&] { return application.admitted().size() == 1; }));
  fill("127.0.0.1", kMost);
  RawClient first = client_at("127.0.0.2"), second = client_at("127.0.0.2");
  EXPECT_EQ(status_of(first, "/"), 200);
  EXPECT_EQ(status_of(second, "/"), 200);
  EXPECT_TRUE(head.ends());
  EXPECT_TRUE(body.ends());
}

TEST_F(Eviction, AConnectionWithAValidKeyOutlivesSilentOnes) {
  RawClient known = client_at("127.0.0.1");
  ASSERT_EQ(status_of(known, "/key"), 200);
  fill("127.0.0.1", kMost);
  for (int i = 10; i < 30; ++i) {
    silent.push_back(client_at(("127.0.0." + std::to_string(i)).c_str()));
    EXPECT_EQ(status_of(silent.back(), "/"), 200);
  }
  EXPECT_EQ(status_of(known, "/key"), 200);
}

TEST_F(Eviction, WithValidKeysTheLongestIdleOneGoesAndNoRunningRequest) {
  std::vector<RawClient> known;
  for (std::size_t i = 0; i < kMost; ++i) known.push_back(client_at("127.0.0.1"));
  for (std::size_t i = 2; i < kMost; ++i) ASSERT_EQ(status_of(known[i], "/key"), 200);
  for (std::size_t i = 0; i < 2; ++i) ASSERT_TRUE(known[i].send(get("/key/busy")));
  const Responder first = parked.next(), second = parked.next();
  ASSERT_EQ(status_of(known[2], "/key"), 200);  // known[3] has now been idle longest
  RawClient fresh = client_at("127.0.0.2");
  EXPECT_EQ(status_of(fresh, "/key"), 200);
  EXPECT_TRUE(known[3].ends());
  EXPECT_TRUE(is_open(known[2]));
  EXPECT_TRUE(first.send(text_reply("late")));
  EXPECT_TRUE(second.send(text_reply("late")));
}

class FirstHead : public Served {
 protected:
  void SetUp() override {
    Limits limits;
    limits.head_timeout = milliseconds(300);
    start(limits);
  }
};

TEST_F(FirstHead, ASilentConnectionIsClosedLongBeforeAnIdleOne) {
  RawClient used = client();
  ASSERT_TRUE(used.send(get("/")));
  ASSERT_TRUE(used.reply());
  EXPECT_EQ(client().until_end(), "");
  EXPECT_FALSE(used.ends(milliseconds(300)));
}

TEST_F(FirstHead, ItsTimeBeginsWithTheConnection) {
  RawClient one = client();
  const auto connected = std::chrono::steady_clock::now();
  EXPECT_TRUE(one.bytes(1, milliseconds(200)).empty());
  ASSERT_TRUE(one.send("GET / HT"));
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 408);
  EXPECT_LT(std::chrono::steady_clock::now() - connected, milliseconds(300 + 250 + 200));
}

}  // namespace
}  // namespace millrace::front::test

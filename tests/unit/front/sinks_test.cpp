#include <atomic>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/front/connection.h"
#include "api/front/server_state.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

// The bytes that a test's sinks received, and their events.
struct Seen {
  std::mutex mutex;
  std::string bytes;
  std::size_t most = std::string::npos;     // above it the sink needs no more
  std::size_t rest_at = std::string::npos;  // above it the sink pauses
  std::function<void()> go_on;
  Signal some, rests, gone;
};

class FakeSink : public BodySink {
 public:
  explicit FakeSink(std::shared_ptr<Seen> seen) : seen_(std::move(seen)) {}
  ~FakeSink() override { seen_->gone.set(); }
  Flow take(std::string_view bytes) override {
    const std::lock_guard lock(seen_->mutex);
    seen_->bytes.append(bytes);
    seen_->some.set();
    if (seen_->bytes.size() > seen_->most) return Flow::kDiscardRest;
    return seen_->bytes.size() > seen_->rest_at ? Flow::kPause : Flow::kMore;
  }
  void on_capacity(std::function<void()> go_on) override {
    const std::lock_guard lock(seen_->mutex);
    seen_->go_on = std::move(go_on);
    seen_->rests.set();
  }

 private:
  const std::shared_ptr<Seen> seen_;
};

// A request of which only the first part of the body has been sent.
std::string begun_post(std::size_t length, const std::string& some) {
  return "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n" + some;
}

bool is_same_socket(int one, int other) {
  struct stat first {};
  struct stat second {};
  return ::fstat(one, &first) == 0 && ::fstat(other, &second) == 0 && first.st_ino == second.st_ino;
}

std::string state_of(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0 ? "ended" : "silent";
}

class Sinks : public Served {
 protected:
  void serve(Limits limits = {}) {
    application.on_admit = [this](const Head&) {
      Admit admit{.body_max = kMegabyte};
      admit.sink = std::make_shared<FakeSink>(seen);
      return admit;
    };
    application.on_run = [this](Request request, const Responder& responder) {
      const std::lock_guard lock(seen->mutex);
      responder.send(text_reply(request.body + "|" + std::to_string(seen->bytes.size()) + "|" +
                                (request.sink ? "sink" : "none")));
    };
    start(limits);
  }
  std::string bytes() {
    const std::lock_guard lock(seen->mutex);
    return seen->bytes;
  }
  // Resumes a paused sink, which then takes at most `most` bytes.
  void end_rest(std::size_t most = std::string::npos) {
    std::function<void()> go_on;
    {
      const std::lock_guard lock(seen->mutex);
      seen->rest_at = std::string::npos;
      seen->most = most;
      go_on.swap(seen->go_on);
    }
    go_on();
  }
  // A client whose body waits for its paused sink.
  RawClient resting_client(const std::string& request) {
    RawClient one = client();
    EXPECT_TRUE(one.send(request));
    EXPECT_TRUE(seen->rests.wait());
    return one;
  }
  const std::shared_ptr<Seen> seen = std::make_shared<Seen>();
};

TEST_F(Sinks, TakeTheBodyInPlaceOfTheRequest) {
  serve();
  const std::string body(200'000, 'x');
  EXPECT_EQ(send_request(post("/", body))->body, "|200000|sink");
  EXPECT_EQ(bytes(), body);
  EXPECT_TRUE(seen->gone.wait());
}

TEST_F(Sinks, HaveTheBytesBeforeTheBodyIsWhole) {
  serve();
  RawClient one = client();
  ASSERT_TRUE(one.send(begun_post(8, "half")));
  EXPECT_TRUE(seen->some.wait());
  EXPECT_EQ(bytes(), "half");
  EXPECT_EQ(application.ran(), 0u);
  ASSERT_TRUE(one.send("more"));
  EXPECT_EQ(one.reply()->body, "|8|sink");
}

TEST_F(Sinks, TakeChunkedBodiesDecoded) {
  serve();
  RawClient one = client();
  ASSERT_TRUE(one.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2"));
  EXPECT_TRUE(seen->some.wait());
  ASSERT_TRUE(one.send("\r\nde\r\n0\r\n\r\n" + get("/next")));
  EXPECT_EQ(one.reply()->body, "|5|sink");
  EXPECT_EQ(one.reply()->status, 200);
  EXPECT_EQ(bytes(), "abcde");
}

TEST_F(Sinks, LeaveWhatFollowsToTheNextRequest) {
  serve();
  RawClient one = client();
  ASSERT_TRUE(one.send(post("/a", "12345") + post("/b", "678")));
  EXPECT_EQ(one.reply()->body, "|5|sink");
  EXPECT_EQ(one.reply()->body, "|8|sink");
  EXPECT_EQ(bytes(), "12345678");
}

TEST_F(Sinks, ThatDiscardTheRestEndTheRequestAtOnce) {
  serve();
  seen->most = 10;
  RawClient one = client();
  ASSERT_TRUE(one.send(begun_post(1'000'000, std::string(5000, 'x'))));
  const auto reply = one.reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(reply->headers.at("connection"), "close");
  one.send(std::string(500'000, 'x'));
  EXPECT_TRUE(one.ends());
  EXPECT_LE(bytes().size(), 5000u);
  EXPECT_EQ(application.ran(), 1u);
}

TEST_F(Sinks, ThatDiscardTheRestAtTheEndKeepTheConnection) {
  serve();
  seen->most = 4;
  RawClient one = client();
  ASSERT_TRUE(one.send(post("/a", "12345")));
  EXPECT_FALSE(one.reply()->has("connection"));
  ASSERT_TRUE(one.send(get("/b")));
  EXPECT_EQ(one.reply()->status, 200);
}

TEST_F(Sinks, AreDroppedWhenTheClientLeaves) {
  serve();
  {
    RawClient one = client();
    ASSERT_TRUE(one.send(begun_post(8, "half")));
    EXPECT_TRUE(seen->some.wait());
    EXPECT_FALSE(seen->gone.is_set());
  }
  EXPECT_TRUE(seen->gone.wait());
  EXPECT_EQ(application.ran(), 0u);
}

TEST_F(Sinks, AreDroppedWhenTheBodyIsTooLarge) {
  serve();
  RawClient one = client();
  ASSERT_TRUE(one.send(begun_post(2'000'000, {})));
  EXPECT_EQ(one.reply()->status, 413);
  EXPECT_TRUE(seen->gone.wait());
  RawClient other = client();
  ASSERT_TRUE(other.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFF\r\nx"));
  EXPECT_EQ(other.reply()->status, 413);
}

TEST_F(Sinks, ThatPauseMakeTheClientWait) {
  serve();
  seen->rest_at = 100'000;
  RawClient one = resting_client(begun_post(1'000'000, std::string(100'001, 'x')));
  const std::size_t before = bytes().size();
  ASSERT_TRUE(one.send(std::string(5'000, 'x')));
  EXPECT_EQ(send_request(get("/other"))->status, 200) << "other clients are served";
  EXPECT_EQ(bytes().size(), before);
  end_rest();
  ASSERT_TRUE(one.send(std::string(1'000'000 - 105'001, 'x') + get("/next")));
  EXPECT_EQ(one.reply()->body, "|1000000|sink");
  EXPECT_EQ(one.reply()->status, 200) << "the connection remains usable";
}

TEST_F(Sinks, ThatArePausedMayEndTheRequest) {
  serve();
  seen->rest_at = 100'000;
  RawClient one = resting_client(begun_post(1'000'000, std::string(100'001, 'x')));
  end_rest(0);
  ASSERT_TRUE(one.send("x"));
  EXPECT_EQ(one.reply()->headers.at("connection"), "close");
}

TEST_F(Sinks, ThatArePausedAreDroppedWithTheirServer) {
  serve();
  seen->rest_at = 0;
  RawClient one = resting_client(begun_post(8, "half"));
  server->stop();
  EXPECT_TRUE(seen->gone.wait());
  EXPECT_TRUE(one.ends());
}

TEST_F(Sinks, DroppingAPausedOneRestoresItsSocketAndLeavesTheSharedSocketOpen) {
  seen->rest_at = 0;
  application.on_admit = [this](const Head&) {
    return Admit{.body_max = kMegabyte, .sink = std::make_shared<FakeSink>(seen)};
  };
  const auto state = std::make_shared<ServerState>(application, Limits{});
  ASSERT_TRUE(state->never_readable.open());
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const auto connection = std::make_shared<Connection>(state, 1, ends[0], "127.0.0.1", [] {});
  connection->on_input(begun_post(8, "half"));
  ASSERT_TRUE(seen->rests.is_set());
  ASSERT_TRUE(is_same_socket(ends[0], state->never_readable.fd()));
  connection->drop();
  EXPECT_FALSE(is_same_socket(ends[0], state->never_readable.fd()));
  EXPECT_EQ(state_of(state->never_readable.fd()), "silent");
  EXPECT_EQ(state_of(ends[1]), "ended");
  connection->on_disconnected();
  for (const int end : ends) ::close(end);
}

TEST_F(Sinks, ThatArePausedSeeADisconnectedClientOnResume) {
  serve();
  seen->rest_at = 0;
  resting_client(begun_post(8, "half")).close();
  EXPECT_FALSE(seen->gone.is_set());
  end_rest();
  EXPECT_TRUE(seen->gone.wait());
}

TEST_F(Sinks, PausedTimeDoesNotCountAsAClientStall) {
  Limits limits;
  limits.body_stall_timeout = std::chrono::milliseconds(100);
  serve(limits);
  seen->rest_at = 0;
  RawClient one = resting_client(begun_post(8, "half"));
  EXPECT_FALSE(one.reply(false, std::chrono::milliseconds(500)));
}

TEST_F(Sinks, DoNotHideABodyThatStopsComing) {
  Limits limits;
  limits.body_stall_timeout = std::chrono::milliseconds(300);
  serve(limits);
  RawClient one = client();
  ASSERT_TRUE(one.send(begun_post(8, "half")));
  EXPECT_EQ(one.reply()->status, 408);
  EXPECT_TRUE(seen->gone.wait());
}

}  // namespace
}  // namespace millrace::front::test

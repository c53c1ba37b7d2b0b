// A response reaches only the client that sent its request, whatever clients do to their connections.
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"
#include "tests/unit/front/served.h"

namespace millrace::front::test {
namespace {

constexpr int kConnections = MILLRACE_UNDER_SANITIZER ? 6'000 : 52'000;
constexpr int kClients = 4;

// Sends responses from its own threads, in random order. Each response has the nonce of its request.
class Repliers {
 public:
  Repliers() {
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }

  void take(std::string nonce, Responder responder) {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() % 2 == 0) {
      waiting_.emplace_back(std::move(nonce), std::move(responder));
    } else {
      waiting_.emplace_front(std::move(nonce), std::move(responder));
    }
    changed_.notify_one();
  }

  std::size_t delivered() const { return delivered_; }

 private:
  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
      auto [nonce, responder] = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      answer(nonce, responder);
      lock.lock();
    }
  }

  void answer(const std::string& nonce, const Responder& responder) {
    if (nonce.back() % 4 == 0) {
      responder.start_stream(text_reply(""));
      responder.write(nonce.substr(0, nonce.size() / 2));
      responder.write(nonce.substr(nonce.size() / 2));
      delivered_ += responder.end() ? 1 : 0;
    } else {
      delivered_ += responder.send(text_reply(nonce)) ? 1 : 0;
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::pair<std::string, Responder>> waiting_;
  std::atomic<std::size_t> delivered_{0};
  std::vector<std::jthread> threads_;
};

struct Tally {
  std::atomic<int> right{0}, wrong{0}, missing{0};
};

// For a well-behaved client: the response must arrive and match the request.
void expect_own(RawClient& one, const std::string& nonce, Tally& tally) {
  const auto reply = one.reply();
  if (!reply) {
    ++tally.missing;
  } else {
    ++(reply->complete && reply->body == nonce ? tally.right : tally.wrong);
  }
}

// The client has closed one direction or more. A response may arrive, but it must match the request.
void allow_own(RawClient& one, const std::string& nonce, Tally& tally) {
  const auto reply = one.reply();
  if (reply && reply->complete) ++(reply->body == nonce ? tally.right : tally.wrong);
}

void behave(int how, const std::string& nonce, RawClient& one, Tally& tally) {
  const std::string whole = post("/", nonce);
  switch (how) {
    case 0:
      one.send(whole);
      break;  // then a reset before the response
    case 1:
      one.send(std::string_view(whole).substr(0, whole.size() - 5));
      break;  // a reset within the body
    case 2:
      one.send(whole);
      one.half_close();
      allow_own(one, nonce, tally);
      break;
    case 3:
      one.send(whole + post("/", nonce + "+"));
      break;  // a reset with two requests pending
    case 4:
      one.send(whole + post("/", nonce + "+"));
      expect_own(one, nonce, tally);
      expect_own(one, nonce + "+", tally);
      break;
    default:
      one.send(whole);
      expect_own(one, nonce, tally);
      break;
  }
  one.reset();
}

void run_client(std::uint16_t port, int number, Tally& tally) {
  std::minstd_rand random(static_cast<unsigned>(number) + 1);
  for (int i = number; i < kConnections; i += kClients) {
    RawClient one(port);
    const std::string nonce = "nonce-" + std::to_string(i) + "-" + std::to_string(random());
    behave(static_cast<int>(random() % 8), nonce, one, tally);
  }
}

class Isolation : public Served {};

TEST_F(Isolation, AnAnswerNeverReachesAnotherClient) {
  Repliers repliers;
  application.on_run = [&](Request request, const Responder& responder) {
    repliers.take(std::move(request.body), responder);
  };
  start();
  Tally tally;
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < kClients; ++i) clients.emplace_back([&, i] { run_client(server->port(), i, tally); });
  }
  EXPECT_EQ(tally.wrong, 0);
  EXPECT_EQ(tally.missing, 0);
  EXPECT_GT(tally.right, kConnections / 3);
  server->drain(kTimeLimit);
  EXPECT_EQ(server->stats().in_flight, 0u);
  EXPECT_TRUE(
      support::wait_until([&] { return server->stats().connections_total == std::uint64_t{kConnections}; }));
  server->stop();
  EXPECT_EQ(server->stats().connections_open, 0u);
}

}  // namespace
}  // namespace millrace::front::test

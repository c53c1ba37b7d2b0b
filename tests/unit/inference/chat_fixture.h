#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "ai/inference/chat/chat.h"
#include "tests/support/plain_http.h"
#include "tests/support/wait_until.h"
#include "tests/unit/inference/rows.h"

namespace millrace::inference::testing {

// Receives one answer.
class Received final : public ChatSink {
 public:
  void on_head(const ChatHead& head) override {
    note([&] { heads.push_back(head); });
  }
  void on_piece(schemas::ChatPiece&& piece) override {
    if (throws_at && throws_at(piece)) throw std::runtime_error("a fault of the sink");
    note([&] { pieces.push_back(std::move(piece)); });
  }
  bool is_ready() override {
    const std::lock_guard lock(mutex);
    return ready;
  }
  void before_sending(const CallCost& cost, std::function<void(bool)> go) override {
    note([&] {
      ++sendings;
      costs.push_back(cost);
    });
    go(goes && sendings <= sendings_max);
  }
  void on_failed_calls(const ChatHead& head, std::optional<double> cost,
                       const schemas::Charge& charged) override {
    note([&] {
      failed.emplace(head);
      failed_cost = cost;
      failed_charged = charged.cost;
      failed_tokens = charged.tokens;
    });
  }
  void on_end(base::Result<ChatResult> result) override {
    if (throws_at_result && result) throw std::runtime_error("a fault of the sink");
    note([&] { end.emplace(std::move(result)); });
  }

  template <class Predicate>
  bool wait(Predicate&& holds) {
    std::unique_lock lock(mutex);
    return support::wait_until(changed, lock, holds);
  }
  bool ended() {
    return wait([&] { return end.has_value(); });
  }
  std::string text(int index = 0) {
    std::string all;
    for (const auto& piece : pieces) {
      if (piece.index == index) all += piece.content.value_or("");
    }
    return all;
  }
  std::vector<std::string> finishes(int index = 0) {
    std::vector<std::string> all;
    for (const auto& piece : pieces) {
      if (piece.index == index && !piece.finish_reason.empty()) all.push_back(piece.finish_reason);
    }
    return all;
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool ready = true, goes = true, throws_at_result = false;
  std::function<bool(const schemas::ChatPiece&)> throws_at = {};  // on_piece
  int sendings = 0, sendings_max = 1'000;
  std::vector<ChatHead> heads;
  std::vector<schemas::ChatPiece> pieces;
  std::optional<ChatHead> failed;
  std::optional<double> failed_cost;
  std::vector<CallCost> costs;  // one for each sending
  schemas::NanoUsd failed_charged = -1;
  std::int64_t failed_tokens = -1;
  std::optional<base::Result<ChatResult>> end;

 private:
  template <class Change>
  void note(Change&& change) {
    // Notify under the lock: the waiting thread may destroy this object at once.
    const std::lock_guard lock(mutex);
    change();
    changed.notify_all();
  }
};

inline bool is_finish(const schemas::ChatPiece& piece) { return !piece.finish_reason.empty(); }

// A Chat with its dependencies.
struct ChatFixture {
  explicit ChatFixture(ModelSettings settings, ChatOptions options = quick(), MakeToolServer tools = {},
                       LocalSpeech speech = {})
      : chat({loop, client, guard, pool, metrics, std::move(tools), std::move(speech)},
             registry(std::move(settings)), options) {}
  ~ChatFixture() { EXPECT_TRUE(chat.stop()); }  // a cancelled run may still be ending

  static ChatOptions quick() {
    ChatOptions options;
    options.retry_base = options.retry_cap = std::chrono::milliseconds(2);
    return options;
  }
  std::shared_ptr<ChatRun> start(schemas::ChatRequest request, ChatSink& sink) {
    std::shared_ptr<ChatRun> run;
    on_loop([&] { run = chat.start(std::move(request), sink); });
    return run;
  }
  // Starts the request and waits for its end.
  base::Result<ChatResult> answer(schemas::ChatRequest request, Received& received) {
    start(std::move(request), received);
    if (!received.ended()) return base::error(base::Code::kInternal, "no end was received");
    return *received.end;
  }
  void on_loop(std::function<void()> act) {
    std::mutex mutex;
    std::condition_variable acted;
    bool done = false;
    loop.post([&] {
      act();
      const std::lock_guard lock(mutex);
      done = true;
      acted.notify_all();
    });
    std::unique_lock lock(mutex);
    EXPECT_TRUE(support::wait_until(acted, lock, [&] { return done; }));
  }

  base::Metrics metrics;
  net::Loop loop{"test"};
  net::HttpClient client{loop, support::plain_http()};
  net::FetchGuard guard{{"files.local"}};
  base::Pool pool{{}};
  Chat chat;
};

inline ModelSettings mock_settings() {
  ModelSettings settings;
  settings.mock = true;
  return settings;
}

}  // namespace millrace::inference::testing

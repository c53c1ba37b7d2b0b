#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <random>
#include <unordered_set>
#include <utility>

#include "ai/inference/chat/chat.h"
#include "ai/inference/chat/reasoning_state.h"
#include "ai/inference/routing/lanes.h"
#include "ai/inference/routing/targets.h"
#include "ai/inference/routing/upstream_metrics.h"

namespace millrace::inference {

// JSON up to this many bytes, or with texts up to this many bytes, is processed on the loop. Larger JSON goes
// to the pool so that it does not delay streams.
inline constexpr std::size_t kSmallJson = 32u << 10;

// Runs whose tasks have neither ended nor been dropped before they began. Loop thread only, except `wait`.
class LiveRuns {
 public:
  void add(ChatRun& run);
  void remove(ChatRun& run);
  void cancel_all();
  // Waits until all runs are cancelled and none is left. Work that was posted to the loop before
  // `cancel_all`, such as the start of a run, has then also run. Returns false if this takes longer than
  // `bound`. Never call it on the loop.
  bool wait(std::chrono::milliseconds bound);

 private:
  std::mutex mutex_;
  std::condition_variable none_left_;
  bool all_cancelled_ = false;
  std::unordered_set<ChatRun*> runs_;
};

// State that all runs of one Chat share. Loop thread only, with these exceptions: `registry` is guarded by
// `mutex`; `live`, `targets` and `lanes` have their own rules.
struct ChatShared {
  ChatShared(Chat::Dependencies dependencies, RegistryPtr models, ChatOptions chat_options)
      : loop(dependencies.loop),
        client(dependencies.client),
        guard(dependencies.guard),
        pool(dependencies.pool),
        make_tool_server(std::move(dependencies.make_tool_server)),
        local_speech(std::move(dependencies.local_speech)),
        options(chat_options),
        targets(dependencies.loop, [this] { lanes->notify_capacity(); }),
        lanes(std::make_shared<Lanes>(dependencies.loop, targets, [this] { return current(); })),
        reasoning_state(chat_options.reasoning_state_bytes_max),
        upstream_metrics(dependencies.metrics),
        random(std::random_device{}()),
        registry(std::move(models)) {}

  RegistryPtr current() {
    const std::lock_guard lock(mutex);
    return registry;
  }
  double random_fraction() { return std::uniform_real_distribution<double>(0, 1)(random); }

  net::Loop& loop;
  net::HttpClient& client;
  const net::FetchGuard& guard;
  base::Pool& pool;
  MakeToolServer make_tool_server;
  const LocalSpeech local_speech;
  std::atomic<std::size_t> buffered_speech_bytes{0};  // bytes; any thread
  const ChatOptions options;
  LiveRuns live;
  Targets targets;
  const std::shared_ptr<Lanes> lanes;
  ReasoningStateCache reasoning_state;
  UpstreamMetrics upstream_metrics;
  std::mt19937_64 random;
  std::mutex mutex;
  RegistryPtr registry;
};

}  // namespace millrace::inference

#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "platform/net/fetch_guard.h"
#include "platform/net/loop.h"
#include "storage/store.h"

namespace millrace::api {

// Sends the deliveries of webhooks: claims those that are due, signs and POSTs them, and records how each
// attempt ended. Several processes may do so at once: a delivery is leased while it is sent. Each endpoint
// has few attempts at a time, and one whose last attempt failed has a single one, so that a receiver that
// never answers delays no other.
class WebhookSender {
 public:
  struct Options {
    std::chrono::milliseconds timeout{15'000};  // of an attempt; a later answer does not count
    // Pauses after the failed attempts, each ± 10 %. After the last one the delivery has failed.
    std::vector<std::chrono::milliseconds> retries;
    int parallel_per_endpoint = 8;
    int parallel = 512;                     // of all endpoints
    std::chrono::milliseconds poll{1'000};  // looks this often for what other processes have recorded
    std::size_t answer_bytes_max = 16'384;  // more of an answer is not read
    std::chrono::milliseconds lease_margin{10'000};  // after `timeout`, for recording the outcome
  };
  struct Dependencies {
    storage::Store& store;
    net::Loop& loop;
    base::Pool& pool;
    base::Metrics& metrics;
    std::shared_ptr<const net::FetchGuard> guard;
    std::string secret_key;  // 32 bytes, as api::Service has it
  };

  WebhookSender(Dependencies dependencies, Options options);
  ~WebhookSender();  // stop()
  WebhookSender(const WebhookSender&) = delete;
  WebhookSender& operator=(const WebhookSender&) = delete;

  void start();
  // For the commit hook: there are new deliveries. Any thread, also after `stop`; never blocks.
  std::function<void()> on_recorded() const;
  // Cuts off what is being sent: it is sent again when its lease ends. Call it before the store, the pool and
  // the loop stop. Waits for the loop. Idempotent.
  void stop();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace millrace::api

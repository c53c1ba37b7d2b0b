#pragma once
#include <memory>

#include "ai/inference/chat/chat.h"
#include "ai/inference/routing/model_lists.h"
#include "app/config/settings.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "platform/net/loop.h"

namespace millrace::app {

// Processes chat requests, direct and deferred ones, on one loop: connections to providers, the address check
// for URLs from clients, and the models with their limits. At most one per process.
class InferenceComponent {
 public:
  // All arguments, and the engine behind `speech`, must outlive this object. The loop must run until this
  // object is destroyed, and every run must have ended before that.
  InferenceComponent(const Settings& settings, net::Loop& loop, base::Pool& pool, base::Metrics& metrics,
                     inference::LocalSpeech speech);
  ~InferenceComponent();
  InferenceComponent(const InferenceComponent&) = delete;
  InferenceComponent& operator=(const InferenceComponent&) = delete;

  inference::Chat& chat();
  net::Loop& loop();
  inference::ModelLists& model_lists();
  net::HttpClient& client();
  // Replaces the models. Thread-safe. Requests in progress keep the previous ones.
  void reload(const inference::ModelSettings& models);
  // The limits of models hold for so many processes together, so this one has that part of them, but at least
  // 1. Thread-safe.
  void share_limits(int processes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::app

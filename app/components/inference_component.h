#pragma once
#include <memory>

#include "ai/inference/chat/chat.h"
#include "ai/inference/routing/model_lists.h"
#include "app/config/settings.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "platform/net/loop.h"

namespace millrace::app {

// What answers chat requests, direct and deferred ones, on one loop: the connections to providers, the guard
// of what clients name, the models with their limits. Each process has one at most.
class InferenceComponent {
 public:
  // All outlive the room, and so does the engine behind `speech`. The loop goes on until the room has gone,
  // and every run has ended before.
  InferenceComponent(const Settings& settings, net::Loop& loop, base::Pool& pool, base::Metrics& metrics,
                     inference::LocalSpeech speech);
  ~InferenceComponent();
  InferenceComponent(const InferenceComponent&) = delete;
  InferenceComponent& operator=(const InferenceComponent&) = delete;

  inference::Chat& chat();
  net::Loop& loop();
  inference::ModelLists& model_lists();
  net::HttpClient& client();
  // Thread-safe; what is under way keeps its models.
  void reload(const inference::ModelSettings& models);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace millrace::app

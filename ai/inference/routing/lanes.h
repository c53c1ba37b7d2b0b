#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ai/inference/routing/registry.h"
#include "ai/inference/routing/targets.h"

namespace millrace::inference {

// Shows the consumer of queued deferred requests how many requests of each model may start now, so that a
// claimed request does not have to wait for the limits of its model. This is the free capacity of the model's
// targets (TargetLimiter::capacity), less the requests that have started but not yet reached them.
// Thread-safe. After its Chat is destroyed, it may still be called and is always full.
class Lanes : public std::enable_shared_from_this<Lanes> {
 public:
  // The permit of one request, held until the request has entered its target's limits or has failed. May
  // outlive everything else.
  class CallPermit {
   public:
    CallPermit(std::shared_ptr<Lanes> lanes, std::string model);
    ~CallPermit() { leave(); }
    CallPermit(const CallPermit&) = delete;
    CallPermit& operator=(const CallPermit&) = delete;
    // Releases the permit, because the limits of the target now count the call. Idempotent; one thread at a
    // time.
    void leave();

   private:
    std::shared_ptr<Lanes> lanes_;  // null: released
    const std::string model_;
  };

  Lanes(net::Loop& loop, Targets& targets, std::function<RegistryPtr()> registry);

  // Null: `model` (a name from Chat::first_choice) has no capacity for the tenant now.
  std::shared_ptr<CallPermit> take(const std::string& model, const std::string& tenant);
  // True if a `take` has failed since the last notification.
  bool some_are_full();
  // The callback is called after a failed `take`, when a new `take` may succeed. It may run on any thread and
  // must not call this object.
  void on_capacity(std::function<void()> callback);

  // A target may have more capacity.
  void notify_capacity();
  // Call before the dependencies are destroyed.
  void close();

 private:
  TargetLimiter::Capacity capacity_of(const std::string& model, const std::string& tenant);
  void retry_in(std::chrono::milliseconds wait);
  void on_timer();
  void left(const std::string& model);

  net::Loop& loop_;
  Targets& targets_;
  const std::function<RegistryPtr()> registry_;
  std::mutex mutex_;  // guards the rest
  bool closed_ = false;
  std::map<std::string, int> permits_;
  std::function<void()> on_capacity_;
  bool refused_since_callback_ = false;  // a take has failed since the last call of the callback
  TargetLimiter::Time due_{};            // of the timer; 0: not set
  net::Loop::Timer timer_;
};

}  // namespace millrace::inference

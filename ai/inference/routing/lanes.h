#pragma once
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "ai/inference/routing/registry.h"
#include "ai/inference/routing/targets.h"

namespace millrace::inference {

// For who takes deferred requests out of a queue: how many of each model may be begun now, so that none has
// to wait for the model's limits once it was taken. That is what its targets leave (Gate::room), less those
// that are on their way to them. Thread-safe; safe, but always full, once its Chat has gone.
class Lanes : public std::enable_shared_from_this<Lanes> {
 public:
  // Of one request, until it has entered or come to nothing. May outlive all the rest.
  class Place {
   public:
    Place(std::shared_ptr<Lanes> lanes, std::string model);
    ~Place() { leave(); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    // Its call is counted by the target's limits now. Idempotent, one thread at a time.
    void leave();

   private:
    std::shared_ptr<Lanes> lanes_;  // null: has left
    const std::string model_;
  };

  Lanes(net::Loop& loop, Targets& targets, std::function<RegistryPtr()> registry);

  // Null: there is no room for `model` (as Chat::first_choice calls it) now.
  std::shared_ptr<Place> take(const std::string& model);
  // A `take` was in vain, and nothing has been told since.
  bool some_are_full();
  // `told`: after a `take` that was in vain, when it may not be any more. Any thread; must not call here.
  void on_capacity(std::function<void()> callback);

  // A target has more room, perhaps.
  void eased();
  // Before what it stands on goes.
  void close();

 private:
  Gate::Capacity capacity_of(const std::string& model);
  void retry_in(std::chrono::milliseconds wait);
  void is_time();
  void left(const std::string& model);

  net::Loop& loop_;
  Targets& targets_;
  const std::function<RegistryPtr()> registry_;
  std::mutex mutex_;  // guards the rest
  bool closed_ = false;
  std::map<std::string, int> on_their_way_;
  std::function<void()> on_capacity_;
  bool in_vain_ = false;  // a take was, since `told` was called last
  Gate::Time due_{};      // of the timer; 0: it is not set
  net::Loop::Timer timer_;
};

}  // namespace millrace::inference

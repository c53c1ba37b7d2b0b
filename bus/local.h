#pragma once
#include <array>
#include <atomic>
#include <shared_mutex>
#include <vector>

#include "bus/bus.h"

namespace millrace::bus {

// Dispatch within one process: direct calls, no thread, no queue. A token goes to its kind's subscriber on
// the publisher's thread, so no thread is woken between accepting and starting a job. Thread-safe.
//
// Subscribers only hand the token over (≤ 10 µs). They take no lock that a publisher may hold, and they do
// not publish. A token of a kind without capacity or subscriber is counted and dropped: when a worker has a
// free slot, it takes the job from the store (docs/design/delivery.md §2 rule 11). So a backlog uses no
// memory here.
class LocalDispatch final : public Dispatch {
 public:
  LocalDispatch() = default;

  // `done` runs on the caller's thread, after the subscriber. It is ok even if there was no capacity.
  void publish(Token token, OnDelivered done) override;
  // May also be called after `start`: it waits until no subscriber runs.
  void subscribe(schemas::Kind kind, std::string worker, OnToken on_token) override;
  void set_capacity(schemas::Kind kind, std::size_t tokens) override;
  base::Status start() override;
  // When it returns, no subscriber is running. The deadline is not used, because subscribers return quickly.
  void stop(std::chrono::milliseconds deadline) override;
  HealthReport health() const override;  // the detail has the number of tokens without capacity
  std::int64_t lag(schemas::Kind /*kind*/) const override { return 0; }
  bool durable() const override { return false; }

 private:
  struct Subscription {
    OnToken on_token;
    std::atomic<std::size_t> capacity{0};
  };
  Subscription& subscription(schemas::Kind kind);
  void offer(Token token);

  std::array<Subscription, schemas::kKinds.size()> subscriptions_;  // in the order of schemas::kKinds
  std::shared_mutex running_mutex_;  // shared: a subscriber may run; guards the subscribers too
  bool running_ = false;
  std::atomic<std::uint64_t> without_capacity_{0};
};

// Hints within one process: every subscriber is called on the publisher's thread. Subscribers have the same
// duties as above.
class LocalEvents final : public Events {
 public:
  LocalEvents() = default;

  void publish(schemas::JobChange hint) override;
  void subscribe(OnHint on_hint) override;
  base::Status start() override;
  void stop(std::chrono::milliseconds deadline) override;
  HealthReport health() const override;

 private:
  std::vector<OnHint> subscribers_;
  std::shared_mutex running_mutex_;
  bool running_ = false;
};

}  // namespace millrace::bus

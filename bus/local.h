#pragma once
#include <array>
#include <atomic>
#include <shared_mutex>
#include <vector>

#include "bus/bus.h"

namespace millrace::bus {

// Everything in one process: direct calls, no thread, no queue. A token goes to its kind's subscriber on the
// publisher's own thread, so accept → start costs no wake-up here. Thread-safe.
//
// Subscribers only hand over (≤ 10 µs): they take no lock that a publisher may hold and do not publish.
// A token of a kind that has no room, or no subscriber, is counted and forgotten: the worker that gets a slot
// free takes the job from the store (docs/design/delivery.md §2 rule 11). That keeps a backlog out of memory.
class LocalDispatch final : public Dispatch {
 public:
  LocalDispatch() = default;

  // `done` runs on the caller's thread, after the subscriber: ok also for a token without room.
  void publish(Token token, OnDelivered done) override;
  // After `start` as well: no subscriber runs meanwhile.
  void subscribe(schemas::Kind kind, std::string worker, OnToken on_token) override;
  void set_capacity(schemas::Kind kind, std::size_t tokens) override;
  base::Status start() override;
  // No subscriber runs any more when it returns. The deadline is not needed: nothing is ever under way for
  // long.
  void stop(std::chrono::milliseconds deadline) override;
  HealthReport health() const override;  // the detail says how many tokens found no room
  std::int64_t lag(schemas::Kind /*kind*/) const override { return 0; }
  bool durable() const override { return false; }

 private:
  struct Line {
    OnToken on_token;
    std::atomic<std::size_t> capacity{0};
  };
  Line& line(schemas::Kind kind);
  void offer(Token token);

  std::array<Line, schemas::kKinds.size()> lines_;  // in the order of schemas::kKinds
  std::shared_mutex running_mutex_;  // shared: a subscriber may run; guards the subscribers too
  bool running_ = false;
  std::atomic<std::uint64_t> without_capacity_{0};
};

// Hints of one process: every subscriber is called on the publisher's own thread. The same duties as above.
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

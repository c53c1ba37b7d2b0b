#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bus/bus.h"
#include "storage/jobs/job_claims.h"
#include "workers/jobs/attempt.h"

namespace millrace::workers {

// Fills the slots of one worker. It claims one job when a token arrives: a token only means that there is
// work, and the store chooses the job. It also polls the store at start, after each finished job, and on a
// jittered timer while slots are free (docs/design/delivery.md §2 rule 11). Therefore a token that is lost,
// or that a busy worker holds, never blocks a job. A lane that gets capacity causes a poll. In one process
// with the front end (a dispatch that is not durable), a poll that finds nothing becomes a parked claim,
// which takes the next job in that job's commit (docs/adr/0007). Polls also fill the reserved slots, with
// jobs of tenants that run none of the kind (docs/adr/0044). Loop thread only.
class Claimer {
 public:
  using Lanes = std::shared_ptr<JobLanes>;
  struct Bounds {
    int slots = 0;
    int reserved_slots = 0;
    Lanes lanes{};  // may be null
  };
  struct Options {
    std::string worker;
    std::map<schemas::Kind, Bounds> kinds;
    std::chrono::milliseconds poll_interval_min{1'000}, poll_interval_max{2'000};
  };
  // Called for each claimed job. The slot is taken until `release_slot`.
  using Start = std::function<void(storage::ClaimedJob job)>;

  Claimer(WorkerContext& worker_context, bus::Dispatch& dispatch, Options options, Start start);
  ~Claimer() { *withdrawn_ = true; }

  // Called before the loop uses the claimer and before Dispatch::start; runs on the caller's thread.
  void subscribe();
  // Adds a kind after `subscribe`.
  void add(schemas::Kind kind, Bounds bounds);
  void open();
  // Another process has queued jobs of the kind: polls the store if some are ready, and if a slot is free.
  void look(schemas::Kind kind);
  void release_slot(schemas::Kind kind);
  // Stops claiming. Calls `on_idle` when no claim is in progress.
  void close(std::function<void()> on_idle);
  // Called after `close`; final. Tokens of its kinds go to other workers.
  void leave();
  // The slots for the heartbeat. A closed claimer reports no free slots. Kinds whose slots are idle because
  // their lanes are full are marked (SlotReport::blocked_by_lanes): they cause no republishing (rule 10).
  std::vector<storage::SlotReport> report() const;

 private:
  // A token that has caused no claim yet: the function acknowledges it.
  using PendingToken = std::function<void()>;
  struct KindState {
    Bounds bounds;
    int used = 0;
    int reserved = 0, reserved_in_claims = 0;  // requested by claims in progress
    bool poll = false;                         // poll the store even without tokens
    bool scheduled = false;                    // a claim has been posted to the loop
    bool looking = false;                      // `look` reads the store
    bool look_again = false;
    std::deque<PendingToken> pending;
    int free() const { return std::max(0, bounds.slots - used - reserved); }
    int free_reserved_slots() const {
      return bounds.reserved_slots - std::max(0, used - bounds.slots) - reserved_in_claims;
    }
    // Slots as others see them: reserved slots count while a job runs in them.
    int slots() const { return std::max(bounds.slots, used); }
  };
  struct ClaimInProgress {
    int count = 0, reserved_slots = 0;
    bool polled = false;
    std::vector<PendingToken> tokens{};
  };

  void subscribe(schemas::Kind kind);
  void on_token(const bus::Token& token, PendingToken acknowledge);
  void check_before_claim(schemas::Kind kind, PendingToken pending);
  template <class F>
  bool check_ready(schemas::Kind kind, F then);
  void add_pending(schemas::Kind kind, PendingToken pending);
  void schedule_claim(schemas::Kind kind, bool poll);
  void claim_for_free_slots(schemas::Kind kind);
  void claim(schemas::Kind kind, ClaimInProgress claim);
  void claimed(schemas::Kind kind, const ClaimInProgress& claim,
               base::Result<std::vector<storage::ClaimedJob>> jobs);
  void retry_poll(schemas::Kind kind);
  void report_capacity(schemas::Kind kind);
  void schedule_next_poll();
  void withdraw();
  void notify_if_idle();

  WorkerContext& worker_context_;
  bus::Dispatch& dispatch_;
  Options options_;
  Start start_;
  storage::JobClaims claims_;
  std::map<schemas::Kind, KindState> kind_states_;
  bool open_ = false;
  bool closed_ = false;
  int claims_in_progress_ = 0;
  const std::shared_ptr<std::atomic<bool>> withdrawn_ = std::make_shared<std::atomic<bool>>(false);
  std::function<void()> on_idle_;
  std::minstd_rand random_{std::random_device{}()};
  net::Loop::Timer timer_;
};

}  // namespace millrace::workers

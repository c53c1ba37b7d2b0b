#include "workers/jobs/claimer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "platform/base/log.h"
#include "workers/runner.h"

namespace millrace::workers {
namespace {

// The tokens per slot that may wait here for a free slot or for an earlier claim.
constexpr std::size_t kPendingPerSlot = 2;
constexpr std::chrono::milliseconds kRetryDelay{200};

}  // namespace

Claimer::Claimer(WorkerContext& worker_context, bus::Dispatch& dispatch, Options options, Start start)
    : worker_context_(worker_context),
      dispatch_(dispatch),
      options_(std::move(options)),
      start_(std::move(start)),
      claims_(worker_context.store) {
  for (const auto& [kind, bounds] : options_.kinds) kind_states_[kind].bounds = bounds;
}

void Claimer::subscribe() {
  for (const auto& [kind, state] : kind_states_) subscribe(kind);
}

void Claimer::subscribe(schemas::Kind kind) {
  if (const Lanes& lanes = kind_states_.at(kind).bounds.lanes) {
    lanes->on_capacity([this, weak_loop = worker_context_.weak_loop, kind] {
      weak_loop.post([this, kind] { retry_poll(kind); });
    });
  }
  dispatch_.subscribe(
      kind, options_.worker,
      [this, weak_loop = worker_context_.weak_loop](bus::Token token, std::function<void()> acknowledge) {
        const bool posted =
            weak_loop.post([this, token = std::move(token), acknowledge] { on_token(token, acknowledge); });
        if (!posted) acknowledge();  // another worker finds the job in the store
      });
}

void Claimer::add(schemas::Kind kind, Bounds bounds) {
  if (closed_) return;
  kind_states_[kind].bounds = std::move(bounds);
  subscribe(kind);
  if (!open_) return;
  report_capacity(kind);
  schedule_claim(kind, true);
}

void Claimer::open() {
  if (closed_) return;
  open_ = true;
  for (const auto& [kind, state] : kind_states_) {
    report_capacity(kind);
    schedule_claim(kind, true);
  }
  schedule_next_poll();
}

void Claimer::schedule_next_poll() {
  const auto spread =
      static_cast<std::uint32_t>((options_.poll_interval_max - options_.poll_interval_min).count() + 1);
  const auto wait = options_.poll_interval_min + std::chrono::milliseconds(random_() % spread);
  timer_ = worker_context_.loop.after(wait, [this] {
    if (closed_) return;
    for (const auto& [kind, state] : kind_states_) schedule_claim(kind, true);
    if (!dispatch_.durable()) claims_.retry_parked_claims();
    schedule_next_poll();
  });
}

// Parked claims are notified by the store.
void Claimer::retry_poll(schemas::Kind kind) {
  if (!open_ || closed_) return;
  schedule_claim(kind, true);
  const KindState& state = kind_states_.at(kind);
  if (!dispatch_.durable() && state.reserved + state.reserved_in_claims > 0) claims_.retry_parked_claims();
}

void Claimer::on_token(const bus::Token& token, PendingToken acknowledge) {
  const schemas::Kind kind = token.job.kind;
  if (!open_ || closed_ || !kind_states_.contains(kind)) return acknowledge();
  // Within one process a token is as new as the commit. A broker's token may be old, and a claim that finds
  // nothing costs a write (rule 10).
  if (!dispatch_.durable()) return add_pending(kind, std::move(acknowledge));
  check_before_claim(kind, std::move(acknowledge));
}

// Calls `then` on the loop: true if jobs of the kind are ready, or if that cannot be read. False: the pool is
// full, and `then` is not called.
template <class F>
bool Claimer::check_ready(schemas::Kind kind, F then) {
  return worker_context_.pool.post(
      base::Pool::Queue::kQuick,
      [weak_loop = worker_context_.weak_loop, &store = worker_context_.store, kind, then = std::move(then)] {
        const auto ready = guarded("token", [&] { return storage::has_ready_jobs(store, kind); });
        weak_loop.post([then, ready = !ready || *ready] { then(ready); });
      });
}

void Claimer::check_before_claim(schemas::Kind kind, PendingToken pending_token) {
  auto shared = std::make_shared<PendingToken>(std::move(pending_token));
  const bool posted = check_ready(kind, [this, kind, shared](bool ready) {
    if (ready) return add_pending(kind, std::move(*shared));
    (*shared)();
    report_capacity(kind);
  });
  if (!posted) add_pending(kind, std::move(*shared));
}

// Hints that arrive during a look cause one more.
void Claimer::look(schemas::Kind kind) {
  const auto found = kind_states_.find(kind);
  if (!open_ || closed_ || found == kind_states_.end()) return;
  KindState& state = found->second;
  if (state.looking) {
    state.look_again = true;
    return;
  }
  state.looking = check_ready(kind, [this, kind](bool ready) {
    KindState& looked = kind_states_.at(kind);
    looked.looking = false;
    if (ready) retry_poll(kind);
    if (std::exchange(looked.look_again, false)) look(kind);
  });
}

void Claimer::add_pending(schemas::Kind kind, PendingToken pending_token) {
  KindState& state = kind_states_.at(kind);
  if (closed_ || state.pending.size() >= kPendingPerSlot * static_cast<std::size_t>(state.bounds.slots)) {
    pending_token();
    return schedule_claim(kind, true);
  }
  state.pending.push_back(std::move(pending_token));
  report_capacity(kind);
  schedule_claim(kind, false);
}

// Tokens that the loop handles before the posted claim join it.
void Claimer::schedule_claim(schemas::Kind kind, bool poll) {
  KindState& state = kind_states_.at(kind);
  state.poll = state.poll || poll;
  if (std::exchange(state.scheduled, true)) return;
  worker_context_.weak_loop.post([this, kind] {
    kind_states_.at(kind).scheduled = false;
    claim_for_free_slots(kind);
  });
}

void Claimer::claim_for_free_slots(schemas::Kind kind) {
  KindState& state = kind_states_.at(kind);
  if (!open_ || closed_) return;
  const bool has_lanes = state.bounds.lanes != nullptr;
  const int free = state.free();
  ClaimInProgress next;
  next.polled = state.poll || (has_lanes && !state.pending.empty());
  next.count = next.polled ? free : std::min(free, static_cast<int>(state.pending.size()));
  next.reserved_slots = next.polled ? state.free_reserved_slots() : 0;
  if (next.count + next.reserved_slots <= 0) return;
  state.poll = false;
  while (!state.pending.empty() && (has_lanes || static_cast<int>(next.tokens.size()) < free)) {
    next.tokens.push_back(std::move(state.pending.front()));
    state.pending.pop_front();
  }
  claim(kind, std::move(next));
}

void Claimer::claim(schemas::Kind kind, ClaimInProgress claim) {
  KindState& state = kind_states_.at(kind);
  state.reserved += claim.count;
  state.reserved_in_claims += claim.reserved_slots;
  ++claims_in_progress_;
  storage::JobClaims::Request request{.kind = kind, .worker = options_.worker};
  request.count = claim.count;
  request.reserved_slots = claim.reserved_slots;
  request.lease = worker_context_.lease.lease;
  request.lanes = state.bounds.lanes;
  if (claim.polled && !dispatch_.durable()) request.withdrawn = withdrawn_;
  auto shared = std::make_shared<ClaimInProgress>(std::move(claim));
  claims_.claim(std::move(request), [this, weak_loop = worker_context_.weak_loop, kind,
                                     shared](base::Result<std::vector<storage::ClaimedJob>> jobs) {
    // The store has decided: the tokens are used up in any case.
    for (const PendingToken& acknowledge : shared->tokens) acknowledge();
    auto claimed_jobs = std::make_shared<base::Result<std::vector<storage::ClaimedJob>>>(std::move(jobs));
    weak_loop.post([this, kind, shared, claimed_jobs] { claimed(kind, *shared, std::move(*claimed_jobs)); });
  });
}

void Claimer::claimed(schemas::Kind kind, const ClaimInProgress& claim,
                      base::Result<std::vector<storage::ClaimedJob>> jobs) {
  KindState& state = kind_states_.at(kind);
  state.reserved -= claim.count;
  state.reserved_in_claims -= claim.reserved_slots;
  --claims_in_progress_;
  bool polled = claim.polled;
  if (!jobs) {
    base::log_warn("claim_refused", {{"kind", schemas::name(kind)}, {"why", jobs.error().message}});
    jobs = std::vector<storage::ClaimedJob>();  // the timer polls again
    polled = true;
  }
  const int got = static_cast<int>(jobs->size());
  state.used += got;
  for (storage::ClaimedJob& job : *jobs) start_(std::move(job));
  report_capacity(kind);
  // Poll again if a token gave no job, or if a claim that may be parked gave fewer jobs than were requested.
  const int requested = claim.count + (dispatch_.durable() ? 0 : claim.reserved_slots);
  if (got < requested && (!polled || got > 0)) state.poll = true;
  if (state.poll || !state.pending.empty()) schedule_claim(kind, false);
  notify_if_idle();
}

void Claimer::release_slot(schemas::Kind kind) {
  --kind_states_.at(kind).used;
  report_capacity(kind);
  schedule_claim(kind, true);
}

void Claimer::report_capacity(schemas::Kind kind) {
  const KindState& state = kind_states_.at(kind);
  const int free_slots = state.slots() - state.used - static_cast<int>(state.pending.size());
  worker_context_.metrics.slots(kind, closed_ ? state.used : state.slots(), state.used);
  dispatch_.set_capacity(kind, open_ && !closed_ ? static_cast<std::size_t>(std::max(0, free_slots)) : 0);
}

void Claimer::close(std::function<void()> on_idle) {
  closed_ = true;
  on_idle_ = std::move(on_idle);
  timer_.cancel();
  for (auto& [kind, state] : kind_states_) {
    report_capacity(kind);
    for (const PendingToken& acknowledge : state.pending) acknowledge();
    state.pending.clear();
  }
  withdraw();
  notify_if_idle();
}

void Claimer::leave() {
  for (const auto& [kind, state] : kind_states_) dispatch_.leave(kind);
}

// Withdraws parked claims. If the store could not accept the request, it is sent again.
void Claimer::withdraw() {
  *withdrawn_ = true;
  if (claims_in_progress_ == 0) return;
  claims_.retry_parked_claims();
  timer_ = worker_context_.loop.after(kRetryDelay, [this] { withdraw(); });
}

void Claimer::notify_if_idle() {
  if (closed_ && claims_in_progress_ == 0 && on_idle_) std::exchange(on_idle_, nullptr)();
}

std::vector<storage::SlotReport> Claimer::report() const {
  std::vector<storage::SlotReport> slots;
  slots.reserve(kind_states_.size());
  for (const auto& [kind, state] : kind_states_) {
    const Lanes& lanes = state.bounds.lanes;
    slots.push_back({kind, closed_ ? state.used : state.slots(), state.used, lanes && lanes->some_are_full(),
                     dispatch_.lags(kind)});
  }
  return slots;
}

}  // namespace millrace::workers

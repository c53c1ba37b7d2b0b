#include "jobs/maintenance.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "jobs/policy.h"
#include "platform/base/log.h"

namespace millrace::jobs {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kShortestWait{20};
constexpr milliseconds kAfterTrouble{1'000};
constexpr int kRepeatsMax = 64;  // of one step in one round: a long backlog must not delay the other steps

}  // namespace

// One round: a sequence of steps, each a transaction whose completion starts the next step.
struct Maintenance::Round {
  // Runs its transaction and calls back with the number of changed rows.
  using Step = std::function<void(storage::Callback<int>)>;

  milliseconds delay{0};
  std::vector<Step> steps;
  std::size_t at = 0;
  int repeats = 0;
  bool retention = false;
  bool unfinished = false;  // a step stopped at its limit
  std::vector<std::string> dropped_files;

  explicit Round(Next then) : next_(std::move(then)) {}

  // Ends the round; later calls are ignored.
  void end(milliseconds wait) {
    if (!over_.exchange(true)) next_(wait);
  }
  // Logs an exception and ends the round, so that the next one begins soon.
  template <class F>
  void guarded(const char* what, F&& f) {
    try {
      f();
    } catch (const std::exception& e) {
      base::log_error("maintenance_step_failed", {{"step", what}, {"what", e.what()}});
      end(kAfterTrouble);
    }
  }

  // Runs the steps and then calls `finish`: after the last step, or after the first step that could not run.
  static void run(const RoundPtr& round, int limit, const std::function<void(const RoundPtr&)>& finish) {
    if (round->over_) return;
    if (round->at == round->steps.size()) return finish(round);
    round->steps[round->at]([round, limit, finish](const base::Result<int>& rows) {
      round->guarded("move", [&] {
        if (!rows) {
          round->delay = kAfterTrouble;
          return finish(round);
        }
        round->advance(*rows >= limit);
        run(round, limit, finish);
      });
    });
  }

 private:
  void advance(bool full) {
    if (full && ++repeats < kRepeatsMax) return;
    unfinished = unfinished || full;
    repeats = 0;
    ++at;
  }

  Next next_;
  std::atomic<bool> over_{false};
};

Maintenance::Maintenance(storage::Store& store, bus::Dispatch& dispatch, OutboxPublisher& publisher,
                         base::Pool& pool, const base::Clock& clock, Options options)
    : store_(store),
      dispatch_(dispatch),
      publisher_(publisher),
      pool_(pool),
      clock_(clock),
      options_(options),
      moves_(store),
      machines_(store),
      images_(store),
      files_(store),
      batches_(store),
      uploads_(store),
      webhooks_(store),
      spending_(store) {}

void Maintenance::tick(Next next) {
  auto round = std::make_shared<Round>(std::move(next));
  const bool posted =
      pool_.post(base::Pool::Queue::kQuick, [this, round] { round->guarded("look", [&] { look(round); }); });
  if (!posted) round->end(kAfterTrouble);
}

bool Maintenance::retention_is_due() const {
  return !retained_at_ || clock_.boot() - *retained_at_ >= options_.retention_period;
}

// One cheap read decides which moves are due. Two steps without a due time search for their own rows.
void Maintenance::look(const RoundPtr& round) {
  const auto due = moves_.next_due(options_.lease);
  const auto machines_due = machines_.next_due();
  const auto has_blobs = moves_.has_unreferenced_blobs();
  if (!due || !machines_due || !has_blobs) return round->end(kAfterTrouble);
  round->delay = due->has_value() ? options_.busy_period : options_.idle_period;
  add_due(*round, *due, *machines_due);
  if (dispatch_.durable() && due->has_value()) add_publication(*round);
  round->steps.push_back(
      [this](storage::Callback<int> done) { moves_.cancel_orphans(options_.step_rows, std::move(done)); });
  round->steps.push_back(
      [this, r = round.get()](storage::Callback<int> done) { drop_removed(*r, std::move(done)); });
  if (retention_is_due())
    add_retention(*round);
  else if (*has_blobs)
    add_blobs(*round);  // what a client has deleted goes soon
  Round::run(round, options_.step_rows, [this](const RoundPtr& r) { finish(r); });
}

// The files of removed jobs go with the retention of the next round. `round` outlives the step.
void Maintenance::drop_removed(Round& round, storage::Callback<int> done) {
  moves_.drop_removed(options_.step_rows,
                      [this, &round, done = std::move(done)](const base::Result<int>& rows) {
                        if (rows && *rows > 0) {
                          retained_at_.reset();
                          round.delay = kShortestWait;
                        }
                        done(rows);
                      });
}

void Maintenance::add_due(Round& round, std::optional<base::WallTime> jobs,
                          std::optional<base::WallTime> machines) {
  const auto now = store_.clock().wall();
  if (jobs && *jobs <= now) add_moves(round);
  if (jobs && *jobs > now) round.delay = std::min(round.delay, *jobs - now);
  if (machines && *machines <= now) add_machines(round);
  if (machines && *machines > now) round.delay = std::min(round.delay, *machines - now);
}

void Maintenance::add_machines(Round& round) {
  const int rows = options_.step_rows;
  round.delay = std::min(round.delay, options_.busy_period);
  const auto new_act_ids = [this, rows] {
    std::vector<schemas::JobId> acts;
    acts.reserve(static_cast<std::size_t>(rows));
    for (int i = 0; i < rows; ++i) acts.push_back({schemas::Kind::kMachine, base::Uuid::make(clock_.wall())});
    return acts;
  };
  round.steps.push_back(
      [this, rows](storage::Callback<int> done) { machines_.resolve_waiting(rows, std::move(done)); });
  round.steps.push_back([this, new_act_ids](storage::Callback<int> done) {
    machines_.put_to_sleep(new_act_ids(), std::move(done));
  });
  round.steps.push_back([this, new_act_ids](storage::Callback<int> done) {
    machines_.begin_acts(new_act_ids(), std::move(done));
  });
}

void Maintenance::add_moves(Round& round) {
  const int rows = options_.step_rows;
  round.steps.push_back(
      [this, rows](storage::Callback<int> done) { moves_.release_due(rows, std::move(done)); });
  round.steps.push_back([this, rows](storage::Callback<int> done) {
    moves_.expire_leases(options_.lease, kLossesMax, rows, std::move(done));
  });
  round.steps.push_back(
      [this, rows](storage::Callback<int> done) { moves_.expire_deadlines(rows, std::move(done)); });
}

void Maintenance::add_publication(Round& round) {
  for (const schemas::Kind kind : schemas::kKinds) {
    publisher_.publish_backlog(kind);
    round.steps.push_back([this, kind](storage::Callback<int> done) {
      moves_.republish_lost(
          kind, options_.republish_after, options_.step_rows,
          [done = std::move(done)](const base::Result<std::vector<storage::ReadyJob>>& again) {
            if (!again) return done(again.error());
            done(static_cast<int>(again->size()));
          });
    });
  }
}

void Maintenance::add_retention(Round& round) {
  const int rows = options_.step_rows;
  round.retention = true;
  round.steps.push_back([this, rows](storage::Callback<int> done) {
    moves_.drop_results(options_.results_age, rows, std::move(done));
  });
  round.steps.push_back([this, rows](storage::Callback<int> done) {
    moves_.drop_jobs(options_.jobs_age, rows, std::move(done));
  });
  round.steps.push_back(
      [this, rows](storage::Callback<int> done) { moves_.drop_idempotency(rows, std::move(done)); });
  round.steps.push_back(
      [this, rows](storage::Callback<int> done) { machines_.drop_replies(rows, std::move(done)); });
  round.steps.push_back(
      [this, rows](storage::Callback<int> done) { machines_.drop_sessions(rows, std::move(done)); });
  round.steps.push_back(
      [this, rows](storage::Callback<int> done) { images_.drop_expired(rows, std::move(done)); });
  round.steps.push_back(
      [this, rows](storage::Callback<int> done) { files_.drop_expired(rows, std::move(done)); });
  round.steps.push_back([this, rows](storage::Callback<int> done) {
    batches_.drop_ended(options_.batches_age, rows, std::move(done));
  });
  round.steps.push_back(
      [this, rows](storage::Callback<int> done) { uploads_.drop_expired(rows, std::move(done)); });
  round.steps.push_back(
      [this, rows](storage::Callback<int> done) { webhooks_.drop_deleted(rows, std::move(done)); });
  round.steps.push_back([this, rows](storage::Callback<int> done) {
    webhooks_.drop_old(options_.webhooks_age, rows, std::move(done));
  });
  round.steps.push_back(
      [this, rows](storage::Callback<int> done) { spending_.settle_abandoned(rows, std::move(done)); });
  add_blobs(round);
}

void Maintenance::add_blobs(Round& round) {
  const int rows = options_.step_rows;
  round.steps.push_back([this, rows, files = &round.dropped_files](storage::Callback<int> done) {
    moves_.drop_blobs(rows, [files, done = std::move(done)](base::Result<std::vector<std::string>> paths) {
      if (!paths) return done(paths.error());
      const int dropped = static_cast<int>(paths->size());
      std::move(paths->begin(), paths->end(), std::back_inserter(*files));
      done(dropped);
    });
  });
}

void Maintenance::finish(const RoundPtr& round) {
  if (round->unfinished) round->delay = kShortestWait;
  if (!round->retention && round->dropped_files.empty())
    return round->end(std::max(round->delay, kShortestWait));
  const bool posted = pool_.post(base::Pool::Queue::kLarge,
                                 [this, round] { round->guarded("files", [&] { collect_files(round); }); });
  if (!posted) {
    round->end(kAfterTrouble);  // files without rows are orphans; a later round deletes them
  }
}

void Maintenance::collect_files(const RoundPtr& round) {
  for (const std::string& path : round->dropped_files) store_.blobs().unlink(path);
  const int orphans = round->retention ? collect_orphans() : 0;
  if (orphans + static_cast<int>(round->dropped_files.size()) > 0) {
    base::log_info("blobs_collected", {{"unreferenced", round->dropped_files.size()}, {"orphans", orphans}});
  }
  if (round->retention && !round->unfinished) retained_at_ = clock_.boot();
  round->end(std::max(round->delay, kShortestWait));
}

int Maintenance::collect_orphans() {
  return store_.blobs().collect_orphans(
      base::millis(clock_.wall()), options_.orphans_age.count(), options_.orphan_files,
      [](void* moves, const std::string& path) {
        return static_cast<storage::JobMaintenance*>(moves)->is_blob_referenced(path);
      },
      &moves_);
}

}  // namespace millrace::jobs

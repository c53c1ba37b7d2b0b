#pragma once
#include <memory>
#include <string>

#include "jobs/waiters.h"
#include "platform/base/result.h"
#include "schemas/jobs/job.h"

namespace millrace::api {

// How many of something each name may hold at once. Thread-safe; places may outlive it.
class KeyedSemaphore {
 public:
  // The right to one more; given back when the last copy goes.
  using Place = std::shared_ptr<const void>;

  explicit KeyedSemaphore(int most);

  int most() const { return most_; }
  // Null: `name` holds as many as it may.
  Place take(const std::string& name);

 private:
  struct State;
  const int most_;
  const std::shared_ptr<State> state_;
};

// How many jobs of each API key may be unfinished at once (limits.concurrent_jobs), of those that this
// process has taken since it started. Thread-safe; places may outlive it.
class JobPlaces {
 public:
  // The right to one more job; given back when the last copy goes.
  using Place = KeyedSemaphore::Place;

  // `per_key` 0: no limit. `waiters` outlives this.
  JobPlaces(int per_key, jobs::Waiters& waiters);
  ~JobPlaces();
  JobPlaces(const JobPlaces&) = delete;
  JobPlaces& operator=(const JobPlaces&) = delete;

  bool limited() const { return taken_.most() > 0; }
  // Null: the key has as many as it may. REQUIRES: limited().
  Place take(const std::string& key_id);
  // `job` was made with `place` (null: not limited), and keeps it until it is over.
  void keep(Place place, const schemas::JobId& job);
  // What a request that finds no place is told.
  base::Error refusal() const;

 private:
  struct State;
  KeyedSemaphore taken_;  // by key id
  jobs::Waiters& waiters_;
  const std::shared_ptr<State> state_;
};

}  // namespace millrace::api

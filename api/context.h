#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "api/byte_budget.h"
#include "api/job_places.h"
#include "api/job_wait.h"
#include "jobs/control.h"
#include "jobs/submit.h"
#include "jobs/waiters.h"
#include "platform/base/clock.h"
#include "platform/base/metrics.h"
#include "platform/base/pool.h"
#include "platform/net/loop.h"
#include "storage/job_queries.h"
#include "storage/store.h"

namespace millrace::api {

// What /readyz says of dispatch; from bus::HealthReport, which this room does not see.
struct DispatchHealth {
  bool ok = true;
  std::string detail;
};

struct Options {
  std::string public_url = {};  // what links are made of, without a slash at its end; empty: relative links
  bool metrics_open = false;    // /metrics without a key: only while the listener is bound to loopback
  std::size_t body_budget_bytes = 512u << 20;  // request bodies in memory at once, over all connections; 503
  // Beside it, those whose key is not known yet: room for one of the largest. Without room: 503 for a good
  // key.
  std::size_t strangers_budget_bytes = 80u << 20;
  std::string executions_off = {};           // not empty: this process runs no commands; new ones get 503
  std::size_t reply_bytes_max = 256u << 20;  // of a job's result in one reply; 413
  // Results in memory on their way to clients, over all connections; 503. At least `reply_bytes_max`.
  std::size_t reply_budget_bytes = 512u << 20;
  int requests_per_minute = 0;                   // per API key; 429. 0: no limit
  int concurrent_jobs = 0;                       // unfinished ones, per API key; 429. 0: no limit
  int list_rows_max = storage::kListRowsMax;     // rows that a list looks at before others have their turn
  std::chrono::milliseconds sync_wait{120'000};  // of a synchronous OCR request; 504
  std::chrono::milliseconds prefer_wait_max{60'000};
  std::chrono::milliseconds event_ping{15'000};
};

// What handlers reach. Everything in it outlives every request.
struct Context {
  storage::Store& store;
  jobs::Submit& submit;
  jobs::Control& control;
  base::Pool& pool;
  net::Loop& loop;
  base::Metrics& metrics;
  const base::Clock& clock;
  const std::function<DispatchHealth()>& dispatch_health;
  const Options& options;
  JobWaits& waits;
  JobPlaces& places;
  ByteBudget& replies;
  const std::atomic<bool>& draining;
  const std::string& openapi;
  const std::string& secret_key;  // 32 bytes: what requests hold in confidence is sealed under it
};

// Runs `task` on the pool; false (and `call` is answered 503) when the lane is full.
bool on_pool(Context& context, base::Pool::Lane lane, const std::shared_ptr<class Call>& call,
             std::function<void()> task);
// The same for an answer that is owed: what it tells has happened, so it waits in line however long that is
// (the line is bounded by the connections). 503 only once the pool is closed.
void owed_on_pool(Context& context, const std::shared_ptr<class Call>& call, std::function<void()> task);

}  // namespace millrace::api

#include "app/components/store_metrics.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

#include "platform/base/log.h"
#include "storage/jobs/job_queries.h"
#include "storage/jobs/kind_pauses.h"

namespace millrace::app {
namespace {

// Shows a running total that another component counts as a counter.
class MirroredCounter {
 public:
  explicit MirroredCounter(base::Counter counter) : counter_(counter) {}
  void follow(double total) const {
    if (const double more = total - counter_.value(); more > 0) counter_.add(more);
  }

 private:
  base::Counter counter_;
};

struct KindGauges {
  schemas::Kind kind;
  base::Gauge queued, running, waiting, scheduled, oldest, paused;
};

KindGauges gauges_of(base::Metrics& metrics, schemas::Kind kind) {
  const auto depth = [&](const char* state) {
    return metrics.gauge("millrace_queue_depth", "Jobs by kind and state, children included",
                         {{"kind", std::string(schemas::name(kind))}, {"state", state}});
  };
  return {kind,
          depth("queued"),
          depth("running"),
          depth("waiting"),
          metrics.gauge("millrace_queue_scheduled", "Jobs that wait for their run_at",
                        {{"kind", std::string(schemas::name(kind))}}),
          metrics.gauge("millrace_queue_oldest_age_seconds", "Age of the oldest queued job",
                        {{"kind", std::string(schemas::name(kind))}}),
          metrics.gauge("millrace_queue_paused", "1 while the queue of the kind is paused",
                        {{"kind", std::string(schemas::name(kind))}})};
}

void show(const KindGauges& gauges, const storage::QueueDepth& depth, base::WallTime now) {
  gauges.queued.set(static_cast<double>(depth.queued));
  gauges.running.set(static_cast<double>(depth.running));
  gauges.waiting.set(static_cast<double>(depth.waiting));
  gauges.scheduled.set(static_cast<double>(depth.scheduled));
  const auto age = depth.oldest_queued ? now - *depth.oldest_queued : base::WallTime::duration::zero();
  gauges.oldest.set(std::chrono::duration<double>(age).count());
}

void show_pauses(const std::vector<KindGauges>& kinds, const std::vector<storage::PausedKind>& paused) {
  for (const KindGauges& gauges : kinds) {
    const bool is = std::ranges::find(paused, gauges.kind, &storage::PausedKind::kind) != paused.end();
    gauges.paused.set(is ? 1 : 0);
  }
}

void watch_groups(base::Metrics& metrics, storage::Store& store) {
  const base::Histogram seconds =
      metrics.histogram("millrace_store_commit_seconds",
                        "Groups of operations, from the lock to the end of COMMIT", base::latency_bounds());
  const base::Histogram operations = metrics.histogram(
      "millrace_store_batch_operations", "Operations per commit", {1, 2, 4, 8, 16, 32, 64, 128, 256});
  store.on_group([seconds, operations](std::size_t count, std::chrono::duration<double> took) {
    seconds.observe(took.count());
    operations.observe(static_cast<double>(count));
  });
}

}  // namespace

void add_store_metrics(base::Metrics& metrics, storage::Store& store) {
  watch_groups(metrics, store);
  std::vector<KindGauges> kinds;
  kinds.reserve(schemas::kKinds.size());
  for (const schemas::Kind kind : schemas::kKinds) kinds.push_back(gauges_of(metrics, kind));
  const MirroredCounter checkpoints(metrics.counter("millrace_store_checkpoints_total", "Checkpoints"));
  const MirroredCounter dropped(metrics.counter("millrace_log_dropped_total", "Log lines dropped"));
  const base::Gauge wal = metrics.gauge("millrace_wal_bytes", "Size of the write-ahead log");
  const base::Gauge missing =
      metrics.gauge("millrace_store_commits_missing",
                    "Commits that starts have found missing, by the file missing-commits");
  const base::Gauge db = metrics.gauge("millrace_store_bytes", "Size of the database file");
  const base::Gauge disk = metrics.gauge("millrace_disk_free_bytes", "Free disk space of the data directory");
  const base::Gauge queue = metrics.gauge("millrace_store_queue_depth", "Operations waiting for the writer");
  metrics.on_scrape([=, &store] {
    const storage::Store::Stats stats = store.stats();
    checkpoints.follow(static_cast<double>(stats.checkpoints_total));
    dropped.follow(static_cast<double>(base::log_dropped()));
    wal.set(static_cast<double>(stats.wal_bytes));
    missing.set(static_cast<double>(stats.commits_missing));
    db.set(static_cast<double>(stats.db_bytes));
    disk.set(static_cast<double>(stats.disk_free_bytes));
    queue.set(static_cast<double>(stats.queue_depth));
    if (const auto paused = storage::KindPauses(store).list()) show_pauses(kinds, *paused);
    const auto depths = storage::JobQueries(store).depths();
    if (!depths) return;
    for (const KindGauges& gauges : kinds) {
      for (const storage::QueueDepth& depth : *depths) {
        if (depth.kind == gauges.kind) show(gauges, depth, store.clock().wall());
      }
    }
  });
}

void add_dispatch_metrics(base::Metrics& metrics, const bus::Dispatch& dispatch) {
  for (const schemas::Kind kind : schemas::kKinds) {
    const base::Gauge lag = metrics.gauge("millrace_kafka_consumer_lag",
                                          "Tokens in this process's partitions that are not settled yet",
                                          {{"kind", std::string(schemas::name(kind))}});
    metrics.on_scrape([=, &dispatch] { lag.set(static_cast<double>(dispatch.lag(kind))); });
  }
}

void add_server_metrics(base::Metrics& metrics, const front::Server& server) {
  const base::Gauge open = metrics.gauge("millrace_http_connections", "Open connections");
  const base::Gauge in_flight =
      metrics.gauge("millrace_http_in_flight", "Requests whose reply is not complete");
  const MirroredCounter total(metrics.counter("millrace_http_connections_total", "Connections taken"));
  const MirroredCounter gone(
      metrics.counter("millrace_http_client_gone_total", "Clients that disconnected before their reply"));
  const MirroredCounter bad(
      metrics.counter("millrace_http_bad_requests_total", "Requests that could not be parsed"));
  const MirroredCounter timeouts(
      metrics.counter("millrace_http_timeouts_total", "Connections closed by a timeout"));
  const MirroredCounter evicted(metrics.counter(
      "millrace_http_evicted_total", "Connections without a valid key, or idle, closed for new ones"));
  metrics.on_scrape([=, &server] {
    const front::Stats stats = server.stats();
    open.set(static_cast<double>(stats.connections_open));
    in_flight.set(static_cast<double>(stats.in_flight));
    total.follow(static_cast<double>(stats.connections_total));
    gone.follow(static_cast<double>(stats.client_gone_total));
    bad.follow(static_cast<double>(stats.bad_requests_total));
    timeouts.follow(static_cast<double>(stats.timeouts_total));
    evicted.follow(static_cast<double>(stats.evicted_total));
  });
}

void add_engine_metrics(base::Metrics& metrics, const engines::EnginePool& pool, const std::string& engine) {
  const base::Labels whose{{"engine", engine}};
  const base::Gauge children = metrics.gauge("millrace_engine_children", "Running engine children", whose);
  const MirroredCounter crashed(
      metrics.counter("millrace_engine_crashes_total", "Engine children that died during a call", whose));
  const auto jail = [&](const char* form) {
    return metrics.gauge("millrace_engine_jail", "1: how the next engine child is confined",
                         {{"engine", engine}, {"form", form}});
  };
  using process::Confinement;
  const std::array jails{std::pair(Confinement::kNamespaces, jail("bubblewrap")),
                         std::pair(Confinement::kFileRules, jail("landlock")),
                         std::pair(Confinement::kReduced, jail("reduced"))};
  metrics.on_scrape([=, &pool] {
    for (const auto& [form, used] : jails) used.set(pool.confinement() == form ? 1 : 0);
    const engines::EnginePool::Counts counts = pool.counts();
    children.set(counts.children_running);
    crashed.follow(static_cast<double>(counts.children_crashed));
  });
}

}  // namespace millrace::app

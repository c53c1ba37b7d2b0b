#include <algorithm>

#include "api/admin/admin_text.h"
#include "api/call.h"
#include "api/handlers.h"
#include "platform/base/log.h"
#include "storage/admin/admin_queries.h"
#include "storage/jobs/kind_pauses.h"
#include "storage/workers/workers.h"

namespace millrace::api {
namespace {

using schemas::JsonObject;
using storage::QueueDepth;
using storage::WorkerLeases;
using storage::WorkerView;

std::string lags_json(const std::vector<schemas::PartitionLag>& lags) {
  JsonItems items;
  for (const schemas::PartitionLag& lag : lags)
    items.add(JsonObject().number("partition", lag.partition).number("lag", lag.tokens).finish());
  return items.finish();
}

std::string slots_json(const storage::WorkerSlots& slots) {
  JsonObject out;
  out.member("kind", schemas::name(slots.kind)).number("slots", slots.slots).number("used", slots.used);
  if (!slots.lags.empty()) out.raw("partitions", lags_json(slots.lags));
  return out.finish();
}

std::string lease_json(const storage::HeldLease& lease, base::WallTime now) {
  JsonObject out;
  out.member("job", lease.job.str())
      .member("kind", schemas::name(lease.job.kind))
      .member("tenant", lease.tenant)
      .number("attempt", lease.attempt);
  if (lease.part) out.number("part", *lease.part);
  if (lease.since) out.member("since", base::rfc3339(*lease.since));
  out.flag("over", !lease.remaining || lease.remaining->count() < 0);
  if (lease.remaining) {
    out.raw("expires_in_seconds", seconds_text(*lease.remaining))
        .member("expires_at", base::rfc3339(now + *lease.remaining));
  }
  return out.finish();
}

void add_leases(JsonObject& out, const std::vector<WorkerLeases>& all, const std::string& worker,
                base::WallTime now) {
  const auto found = std::ranges::find(all, worker, &WorkerLeases::worker);
  JsonItems items;
  if (found != all.end()) {
    for (const storage::HeldLease& lease : found->leases) items.add(lease_json(lease, now));
  }
  out.number("leases_held", found == all.end() ? 0 : found->held).raw("leases", items.finish());
}

std::string worker_json(const WorkerView& worker, const std::vector<WorkerLeases>& leases,
                        base::WallTime now) {
  JsonItems slots;
  for (const storage::WorkerSlots& each : worker.slots) slots.add(slots_json(each));
  JsonObject out;
  out.member("name", worker.name)
      .member("host", worker.host)
      .member("version", worker.version)
      .flag("live", worker.live)
      .flag("draining", worker.draining)
      .member("seen_at", base::rfc3339(worker.seen_at))
      .raw("heartbeat_age_seconds", age_text(worker.seen_at, now))
      .raw("slots", slots.finish());
  add_leases(out, leases, worker.name, now);
  return out.finish();
}

// Slots of live workers. A draining worker counts only those in use.
storage::WorkerSlots all_slots(const std::vector<WorkerView>& workers, schemas::Kind kind) {
  storage::WorkerSlots sum{.kind = kind};
  for (const WorkerView& worker : workers) {
    for (const storage::WorkerSlots& each : worker.slots) {
      if (!worker.live || each.kind != kind) continue;
      sum.slots += each.slots;
      sum.used += each.used;
      sum.lags.insert(sum.lags.end(), each.lags.begin(), each.lags.end());
    }
  }
  std::ranges::sort(sum.lags, {}, &schemas::PartitionLag::partition);
  return sum;
}

// The data from which the list of queues is built.
struct QueueSnapshot {
  std::vector<QueueDepth> depths;
  std::vector<WorkerView> workers;
  std::vector<storage::PausedKind> paused;
};

base::Result<QueueSnapshot> collect_queues(storage::Store& store) {
  auto depths = storage::JobQueries(store).depths();
  if (!depths) return depths.error();
  auto workers = storage::AdminQueries(store).workers();
  if (!workers) return workers.error();
  auto paused = storage::KindPauses(store).list();
  if (!paused) return paused.error();
  return QueueSnapshot{*std::move(depths), *std::move(workers), *std::move(paused)};
}

std::string queue_json(const QueueSnapshot& snapshot, const QueueDepth& depth, base::WallTime now) {
  const storage::WorkerSlots slots = all_slots(snapshot.workers, depth.kind);
  const auto paused = std::ranges::find(snapshot.paused, depth.kind, &storage::PausedKind::kind);
  JsonObject out;
  out.member("kind", schemas::name(depth.kind));
  add_depth(out, depth, now);
  out.number("slots", slots.slots).number("used", slots.used).flag("paused", paused != snapshot.paused.end());
  if (paused != snapshot.paused.end()) out.member("paused_at", base::rfc3339(paused->since));
  if (!slots.lags.empty()) out.raw("partitions", lags_json(slots.lags));
  return out.finish();
}

void send_queue(Context& context, Call& call, schemas::Kind kind) {
  const auto snapshot = collect_queues(context.store);
  if (!snapshot) return call.fail(snapshot.error());
  const auto depth = std::ranges::find(snapshot->depths, kind, &QueueDepth::kind);
  call.reply(json_reply(200, queue_json(*snapshot, *depth, context.clock.wall())));
}

// Machine operations are internal: their queue is listed, but cannot be paused.
base::Result<schemas::Kind> queue_named(const std::string& name) {
  const auto kind = schemas::kind_named(name);
  if (kind == schemas::Kind::kMachine) {
    return base::error(base::Code::kNotFound,
                       "The queue `machine` is internal and cannot be paused. Pause `exec` instead");
  }
  if (!kind) return base::error(base::Code::kNotFound, "There is no such queue; use ocr, exec, chat or stt");
  return *kind;
}

using PauseMove = void (storage::KindPauses::*)(schemas::Kind, storage::Callback<bool>, storage::Caller);

void set_pause(Context& context, const CallPtr& call, PauseMove move, const char* event) {
  const auto kind = queue_named(call->params.front());
  if (!kind) return call->fail(kind.error());
  storage::KindPauses pauses(context.store);
  const auto done = [&context, call, kind = *kind, event](const base::Result<bool>& changed) {
    if (!changed) return call->fail(changed.error());
    if (*changed) base::log_info(event, {{"kind", schemas::name(kind)}, {"key", call->principal->key_id}});
    reply_on_pool(context, call, [&context, call, kind] { send_queue(context, *call, kind); });
  };
  (pauses.*move)(*kind, done, {call->tenant(), call->principal->key_id});
}

struct WorkerSnapshot {
  std::vector<WorkerView> workers;
  std::vector<WorkerLeases> leases;
};

base::Result<WorkerSnapshot> collect_workers(storage::Store& store) {
  storage::AdminQueries queries(store);
  auto workers = queries.workers();
  if (!workers) return workers.error();
  auto leases = queries.leases();
  if (!leases) return leases.error();
  return WorkerSnapshot{*std::move(workers), *std::move(leases)};
}

void send_worker(Context& context, Call& call) {
  const auto worker_snapshot = collect_workers(context.store);
  if (!worker_snapshot) return call.fail(worker_snapshot.error());
  const auto found = std::ranges::find(worker_snapshot->workers, call.params.front(), &WorkerView::name);
  if (found == worker_snapshot->workers.end())
    return call.fail(
        base::error(base::Code::kNotFound, "The worker has shut down and is no longer registered"));
  call.reply(json_reply(200, worker_json(*found, worker_snapshot->leases, context.clock.wall())));
}

}  // namespace

void admin_queues(Context& context, CallPtr call) {
  const auto snapshot = collect_queues(context.store);
  if (!snapshot) return call->fail(snapshot.error());
  JsonItems items;
  for (const QueueDepth& depth : snapshot->depths)
    items.add(queue_json(*snapshot, depth, context.clock.wall()));
  send_items(*call, std::move(items));
}

void admin_pause_queue(Context& context, CallPtr call) {
  set_pause(context, call, &storage::KindPauses::pause, "queue_paused");
}

void admin_resume_queue(Context& context, CallPtr call) {
  set_pause(context, call, &storage::KindPauses::resume, "queue_resumed");
}

void admin_workers(Context& context, CallPtr call) {
  const auto worker_snapshot = collect_workers(context.store);
  if (!worker_snapshot) return call->fail(worker_snapshot.error());
  JsonItems items;
  for (const WorkerView& worker : worker_snapshot->workers)
    items.add(worker_json(worker, worker_snapshot->leases, context.clock.wall()));
  send_items(*call, std::move(items));
}

void admin_drain_worker(Context& context, CallPtr call) {
  storage::WorkerDrains(context.store)
      .drain(call->params.front(),
             [&context, call](const base::Result<bool>& drained) {
               if (!drained) return call->fail(drained.error());
               base::log_info("worker_drain_requested",
                              {{"worker", call->params.front()}, {"key", call->principal->key_id}});
               reply_on_pool(context, call, [&context, call] { send_worker(context, *call); });
             },
             {call->tenant(), call->principal->key_id});
}

}  // namespace millrace::api

#include "app/gateway.h"

#include <algorithm>
#include <utility>

#include "api/front/cork.h"
#include "api/front/server.h"
#include "api/keys.h"
#include "api/secret_file.h"
#include "api/service.h"
#include "app/machine_room.h"
#include "app/ocr_engine_room.h"
#include "app/store_metrics.h"
#include "bus/kafka_dispatch.h"
#include "bus/kafka_events.h"
#include "bus/local.h"
#include "jobs/control.h"
#include "jobs/relay.h"
#include "jobs/submit.h"
#include "jobs/upkeep.h"
#include "jobs/waiters.h"
#include "platform/base/log.h"
#include "platform/net/loop.h"
#include "workers/upkeep_timer.h"
#include "workers/worker.h"

namespace millrace::app {
namespace {

constexpr std::chrono::seconds kWorkerEnd{15};  // > Worker::Options::drain_grace

storage::Store::Options store_options(const Settings& settings) {
  storage::Store::Options options;
  options.data_dir = settings.data_dir;
  options.outbox = !settings.kafka_brokers.empty();
  options.queue_max = static_cast<std::size_t>(settings.store_queue_max);
  options.wal_max_bytes = settings.wal_max_bytes;
  options.disk_free_min_bytes = settings.disk_free_min_bytes;
  options.result_age = settings.retention_results;
  options.job_age = settings.retention_jobs;
  return options;
}

std::unique_ptr<bus::Dispatch> make_dispatch(const Settings& settings) {
  if (settings.kafka_brokers.empty()) return std::make_unique<bus::LocalDispatch>();
  bus::KafkaDispatch::Options options;
  options.cluster = kafka_cluster(settings);
  return std::make_unique<bus::KafkaDispatch>(std::move(options));
}

std::unique_ptr<bus::Events> make_events(const Settings& settings) {
  if (settings.kafka_brokers.empty()) return std::make_unique<bus::LocalEvents>();
  bus::KafkaEvents::Options options;
  options.cluster = kafka_cluster(settings);
  return std::make_unique<bus::KafkaEvents>(std::move(options));
}

front::Server::Options server_options(const Settings& settings) {
  front::Server::Options options;
  options.host = settings.listen.host;
  options.port = settings.listen.port;
  options.threads = settings.http_threads;
  options.limits.connections_max = static_cast<std::size_t>(settings.http_connections_max);
  return options;
}

std::string url_of(const Settings& settings, std::uint16_t port) {
  const std::string& host = settings.listen.host;
  const bool any = host == "0.0.0.0" || host == "::";
  return "http://" + base::NetAddress{any ? "127.0.0.1" : host, port}.str();
}

// Declaration order is the order of building; destruction runs it backwards.
struct Core {
  explicit Core(const Settings& settings)
      : dispatch(make_dispatch(settings)), events(make_events(settings)) {}
  base::SystemClock clock;
  base::Metrics metrics;
  std::unique_ptr<bus::Dispatch> dispatch;
  std::unique_ptr<bus::Events> events;
  std::unique_ptr<storage::Store> store;
};

}  // namespace

struct Gateway::Parts {
  Parts(const Settings& s, const Roles& r) : settings(s), roles(r), core(s) {}

  base::Status open_store();
  void add_upkeep();
  base::Status add_worker();
  base::Status add_machines();
  base::Status start_api();
  void stop();

  Settings settings;
  Roles roles;
  Core core;
  std::unique_ptr<base::Pool> pool;
  std::unique_ptr<net::Loop> loop;
  std::unique_ptr<jobs::Waiters> waiters;
  std::unique_ptr<jobs::Submit> submit;
  std::unique_ptr<jobs::Control> control;
  std::unique_ptr<jobs::Relay> relay;
  std::unique_ptr<jobs::Upkeep> upkeep;
  std::unique_ptr<workers::UpkeepTimer> upkeep_timer;
  std::unique_ptr<OcrEngineRoom> ocr;
  std::unique_ptr<MachineRoom> machines;
  std::unique_ptr<workers::Worker> worker;
  std::unique_ptr<api::Service> service;
  std::unique_ptr<front::Server> server;
};

base::Status Gateway::Parts::open_store() {
  auto opened = storage::Store::open(store_options(settings), core.clock);
  if (!opened) return opened.error();
  core.store = *std::move(opened);
  if (roles.api) core.store->announce_within([] { return std::make_shared<front::Cork>(); });
  add_store_metrics(core.metrics, *core.store);
  if (core.dispatch->durable()) add_dispatch_metrics(core.metrics, *core.dispatch);
  pool = std::make_unique<base::Pool>(base::Pool::Options{});
  loop = std::make_unique<net::Loop>("api-loop");
  waiters = std::make_unique<jobs::Waiters>(*core.store);
  submit = std::make_unique<jobs::Submit>(*core.store, core.clock);
  control = std::make_unique<jobs::Control>(*core.store, core.clock);
  relay = std::make_unique<jobs::Relay>(*core.store, *core.dispatch, *core.events, *waiters);
  return {};
}

void Gateway::Parts::add_upkeep() {
  jobs::Upkeep::Options options;
  options.results_age = settings.retention_results;
  options.jobs_age = settings.retention_jobs;
  options.orphans_age = settings.retention_orphans;
  upkeep = std::make_unique<jobs::Upkeep>(*core.store, *core.dispatch, *relay, *pool, core.clock, options);
  workers::UpkeepTimer::Options timer;
  timer.data_dir = settings.data_dir;
  upkeep_timer = std::make_unique<workers::UpkeepTimer>(*loop, *pool, *core.store, *upkeep, timer);
  relay->on_activity([this](bool delayed) { upkeep_timer->nudge(delayed); });
}

base::Status Gateway::Parts::add_worker() {
  workers::Worker::Options options;
  options.data_dir = settings.data_dir;
  options.name = settings.worker_name;
  options.drain_grace = std::min<std::chrono::milliseconds>(options.drain_grace, settings.drain_timeout / 3);
  auto made = workers::Worker::make(std::move(options),
                                    {*core.store, *core.dispatch, *pool, core.clock, core.metrics});
  if (!made) return made.error();
  worker = *std::move(made);
  for (const schemas::Kind kind : roles.kinds) {
    switch (kind) {
      case schemas::Kind::kOcr: {
        auto room = OcrEngineRoom::open(settings, worker->loop(), *pool, *core.store, core.metrics);
        if (!room) return room.error();
        ocr = *std::move(room);
        worker->add(kind, settings.slots.at(kind), ocr->make_runner());
        break;
      }
      case schemas::Kind::kExec:
        if (auto added = add_machines(); !added) return added;
    }
  }
  return {};
}

// Where commands cannot be jailed none is run, and everything else goes on.
base::Status Gateway::Parts::add_machines() {
  auto room = MachineRoom::open(settings);
  if (!room) {
    base::log_warn("executions_off", {{"reason", room.error().message}});
    return {};
  }
  auto key = api::secret_key(settings.data_dir);
  if (!key) return key.error();
  machines = *std::move(room);
  worker->add(schemas::Kind::kExec, settings.slots.at(schemas::Kind::kExec),
              machines->make_runner(*std::move(key)));
  return ensure_local_machine(*core.store);
}

base::Status Gateway::Parts::start_api() {
  auto pepper = api::pepper(settings.data_dir);
  if (!pepper) return pepper.error();
  if (base::Status made = api::ensure_admin_key(*core.store, *pepper); !made) return made;
  auto secret_key = api::secret_key(settings.data_dir);
  if (!secret_key) return secret_key.error();
  api::Service::Dependencies needs{*core.store, *submit,      *control,   *waiters, *pool,
                                   *loop,       core.metrics, core.clock, {},       {}};
  needs.dispatch_health = [this] {
    const bus::HealthReport report = core.dispatch->health();
    return api::DispatchHealth{report.health == bus::Health::kUp, report.detail};
  };
  needs.secret_key = *std::move(secret_key);
  const bool runs_commands = std::ranges::find(roles.kinds, schemas::Kind::kExec) != roles.kinds.end();
  if (runs_commands && !machines) {
    needs.options.executions_off = "commands cannot be run on this host; `millrace doctor` says why";
  }
  needs.options.public_url = settings.public_url;
  needs.options.metrics_open = base::is_loopback(settings.listen.host);
  needs.options.body_budget_bytes = static_cast<std::size_t>(settings.http_body_budget_bytes);
  needs.options.reply_bytes_max = static_cast<std::size_t>(settings.ocr_reply_max_bytes);
  needs.options.reply_budget_bytes = static_cast<std::size_t>(settings.http_reply_budget_bytes);
  needs.options.requests_per_minute = settings.requests_per_minute;
  needs.options.concurrent_jobs = settings.concurrent_jobs;
  needs.options.sync_wait = settings.ocr_wait;
  service = std::make_unique<api::Service>(std::move(needs), *std::move(pepper));
  if (base::Status started = service->start(); !started) return started;
  server = std::make_unique<front::Server>(server_options(settings), *service);
  add_server_metrics(core.metrics, *server);
  return server->start();
}

void Gateway::Parts::stop() {
  if (server) server->stop();
  if (service) service->stop();
  core.dispatch->stop(std::chrono::seconds(2));
  core.events->stop(std::chrono::seconds(1));
  if (worker) worker->drain(kWorkerEnd);  // at once if it has drained: no run may outlive its engine
  ocr.reset();
  worker.reset();
  machines.reset();  // its commands end with their runner
  if (upkeep_timer) upkeep_timer->stop(std::chrono::seconds(2));
  if (core.store) core.store->close();
  if (pool) pool->close();
  if (loop) loop->stop();
}

base::Result<std::unique_ptr<Gateway>> Gateway::start(const Settings& settings, const Roles& roles) {
  auto parts = std::make_unique<Parts>(settings, roles);
  std::unique_ptr<Gateway> gateway(new Gateway(std::move(parts)));
  Parts& p = *gateway->parts_;
  if (base::Status opened = p.open_store(); !opened) return opened.error();
  p.add_upkeep();
  p.relay->start();
  if (!roles.kinds.empty()) {
    if (base::Status added = p.add_worker(); !added) return added.error();
  }
  if (base::Status started = p.core.events->start(); !started) return started.error();
  if (roles.api) {  // before the first claim: an address that is taken costs no job anything
    if (base::Status started = p.start_api(); !started) return started.error();
  }
  if (p.worker) p.worker->start();
  if (base::Status started = p.core.dispatch->start(); !started) return started.error();
  if (base::Status started = p.upkeep_timer->start(); !started) return started.error();
  return gateway;
}

Gateway::Gateway(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Gateway::~Gateway() { parts_->stop(); }

std::string Gateway::url() const {
  return parts_->server ? url_of(parts_->settings, parts_->server->port()) : "";
}
std::string Gateway::name() const { return parts_->worker ? parts_->worker->name() : ""; }

// Each step takes what it needs of the whole; the shares add up to drain.timeout.
void Gateway::drain() {
  const auto whole = parts_->settings.drain_timeout;
  if (parts_->service) parts_->service->refuse_new();
  if (parts_->server) parts_->server->refuse_new();
  if (parts_->worker) parts_->worker->stop_claiming(whole / 12);
  if (parts_->service) parts_->service->drain();
  if (parts_->server) parts_->server->drain(whole / 6);
  if (parts_->worker) parts_->worker->drain(whole * 7 / 12);
}

}  // namespace millrace::app

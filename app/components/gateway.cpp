#include "app/components/gateway.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "api/admission/keys.h"
#include "api/front/output.h"
#include "api/front/server.h"
#include "api/service.h"
#include "api/webhooks/webhook_sender.h"
#include "app/components/audio_components.h"
#include "app/components/inference_component.h"
#include "app/components/machine_component.h"
#include "app/components/metrics_component.h"
#include "app/components/picture_component.h"
#include "app/components/presence.h"
#include "app/components/store_metrics.h"
#include "app/components/worker_component.h"
#include "app/config/store_options.h"
#include "bus/kafka/kafka_dispatch.h"
#include "bus/kafka/kafka_events.h"
#include "bus/local.h"
#include "bus/postgres/postgres_events.h"
#include "jobs/feed.h"
#include "jobs/job_submitter.h"
#include "jobs/maintenance.h"
#include "jobs/outbox_publisher.h"
#include "jobs/waiters.h"
#include "platform/net/loop.h"
#include "workers/jobs/maintenance_timer.h"

namespace millrace::app {
namespace {

// Documents that are sent to S3, or read from there, at once. A folder is written by one thread.
constexpr unsigned kUploads = 16;
constexpr std::chrono::seconds kHandOverMax{10};  // the last part of a drain
// Maintenance looks this often for what another process has scheduled, since perhaps no bus announces it: any
// process may have peers.
constexpr std::chrono::seconds kIdleWithoutBus{1};

// For the operator; tenants only see that a limit was reached.
std::string disk_figures(const storage::Store& store) {
  const storage::Store::Health health = store.health();
  return health.disk_ok ? "" : " (" + health.disk_detail + ")";
}

std::unique_ptr<bus::Dispatch> make_dispatch(const Settings& settings) {
  if (settings.kafka_brokers.empty()) return std::make_unique<bus::LocalDispatch>();
  bus::KafkaDispatch::Options options;
  options.cluster = kafka_cluster(settings);
  return std::make_unique<bus::KafkaDispatch>(std::move(options));
}

std::unique_ptr<bus::Events> make_events(const Settings& settings) {
  if (settings.kafka_brokers.empty() && settings.store_url.empty())
    return std::make_unique<bus::LocalEvents>();
  if (settings.kafka_brokers.empty())
    return std::make_unique<bus::PostgresEvents>(bus::PostgresEvents::Options{.url = settings.store_url});
  bus::KafkaEvents::Options options;
  options.cluster = kafka_cluster(settings);
  return std::make_unique<bus::KafkaEvents>(std::move(options));
}

front::Server::Options server_options(const Settings& settings) {
  front::Server::Options options;
  options.host = settings.listen.host;
  options.port = settings.listen.port;
  options.threads = settings.http_threads;
  options.trusted_proxies = settings.http_trusted_proxies;
  if (settings.http_forwarded) options.forwarded_header = front::ForwardedHeader::kForwarded;
  options.limits.idle_poll = settings.http_idle_poll;
  // With one processor, a spinning thread would delay the event that it waits for.
  if (std::thread::hardware_concurrency() < 2) options.limits.due_poll = std::chrono::microseconds(0);
  options.limits.body_timeout = settings.http_body_timeout;
  options.limits.connections_max = static_cast<std::size_t>(settings.http_connections_max);
  return options;
}

// Chat requests start on the HTTP server's thread. With a plain-HTTP provider, their responses are handled
// there, too.
front::Server::Options::ExtraFd replies_fd(net::HttpClient& client) {
  return {.begin = [&client] { return client.share_replies(); },
          .ready = [&client] { client.run_shared_replies(); },
          .end = [&client] { client.end_shared_replies(); }};
}

// Replies to jobs that were just accepted are sent on the thread that reads the next requests.
front::Server::Options::ExtraFd completions_fd(storage::Store& store) {
  return {.begin = [&store] { return store.share_completions(); },
          .ready = [&store] { store.run_shared_completions(); },
          .end = [&store] { store.stop_sharing_completions(); },
          .due = [&store] { return store.completions_are_due(); }};
}

// Members are built in declaration order and destroyed in reverse order.
struct GatewayCore {
  explicit GatewayCore(const Settings& settings)
      : dispatch(make_dispatch(settings)), events(make_events(settings)) {}
  base::SystemClock clock;
  base::Metrics metrics;
  std::unique_ptr<bus::Dispatch> dispatch;
  std::unique_ptr<bus::Events> events;
  std::unique_ptr<storage::Store> store;
};

}  // namespace

struct Gateway::Impl {
  Impl(const Settings& s, const Roles& r) : settings(s), roles(r), core(s) {}

  base::Status open_store();
  bool calls_models() const;
  base::Status add_presence();
  void add_maintenance();
  base::Status open_authority();
  base::Status add_worker();
  void add_looks_for_jobs();
  base::Status add_file_machines();
  void add_inference();
  api::Options api_options() const;
  void add_webhook_sender(const std::string& secret_key);
  base::Status start_api();
  base::Status start_metrics_listener();
  void stop();
  bool runs(schemas::Kind kind) const { return std::ranges::find(roles.kinds, kind) != roles.kinds.end(); }

  Settings settings;
  Roles roles;
  GatewayCore core;
  std::shared_ptr<const machines::SshAuthority> authority;
  std::unique_ptr<base::Pool> pool;
  std::unique_ptr<net::Loop> loop;
  std::unique_ptr<Presence> presence;  // only with settings.store_url
  std::unique_ptr<jobs::Waiters> waiters;
  jobs::Feed feed;
  std::unique_ptr<jobs::JobSubmitter> submit;
  std::unique_ptr<jobs::OutboxPublisher> publisher;
  std::unique_ptr<jobs::Maintenance> maintenance;
  std::unique_ptr<workers::MaintenanceTimer> maintenance_timer;
  std::unique_ptr<SpeechComponent> speech;  // only with the role api
  std::unique_ptr<PictureComponent> pictures;
  // Runs on `loop`. Used by the api and by workers of kind chat, ocr or stt.
  std::unique_ptr<InferenceComponent> inference;
  std::unique_ptr<WorkerComponent> worker;
  const net::FetchGuard fetch_guard{settings.fetch_allow_hosts};
  const std::shared_ptr<const net::FetchGuard> webhook_guard =
      std::make_shared<net::FetchGuard>(settings.webhook_hosts, "--webhooks.allowed-hosts", "url");
  std::unique_ptr<api::WebhookSender> webhook_sender;  // only with the role api
  std::unique_ptr<api::Service> service;
  std::unique_ptr<front::Server> server;
  std::unique_ptr<MetricsComponent> metrics_listener;  // set if settings.metrics_listen is
};

base::Status Gateway::Impl::open_store() {
  auto opened = storage::Store::open(store_options(settings), core.clock);
  if (!opened) return opened.error();
  core.store = *std::move(opened);
  if (roles.api) core.store->set_completion_scope([] { return std::make_shared<front::Cork>(); });
  add_store_metrics(core.metrics, *core.store);
  if (core.dispatch->durable()) add_dispatch_metrics(core.metrics, *core.dispatch);
  base::Pool::Options threads;
  if (settings.blobs) threads = {.threads = kUploads + 2, .large_max = kUploads};
  pool = std::make_unique<base::Pool>(threads);
  loop = std::make_unique<net::Loop>("api-loop");
  waiters = std::make_unique<jobs::Waiters>(*core.store);
  submit = std::make_unique<jobs::JobSubmitter>(*core.store, core.clock);
  publisher = std::make_unique<jobs::OutboxPublisher>(*core.store, *core.dispatch, *core.events, *waiters);
  publisher->set_feed(feed);
  return {};
}

// Documents and recordings call models only where one is configured.
bool Gateway::Impl::calls_models() const {
  const bool reads = runs(schemas::Kind::kOcr) || runs(schemas::Kind::kStt);
  return roles.api || runs(schemas::Kind::kChat) || (reads && !settings.models.models.empty());
}

base::Status Gateway::Impl::add_presence() {
  if (settings.store_url.empty()) return {};
  auto opened = Presence::open({.data_dir = settings.data_dir,
                                .host = settings.host_name,
                                .serves_api = roles.api,
                                .calls_models = calls_models()},
                               *core.store, *loop);
  if (!opened) return opened.error();
  presence = *std::move(opened);
  return {};
}

void Gateway::Impl::add_maintenance() {
  jobs::Maintenance::Options options;
  options.results_age = settings.retention_results;
  options.jobs_age = settings.retention_jobs;
  options.batches_age = settings.batches.age;
  options.orphans_age = settings.retention_orphans;
  options.webhooks_age = settings.webhook_retention;
  if (!core.dispatch->durable()) options.idle_period = kIdleWithoutBus;
  maintenance = std::make_unique<jobs::Maintenance>(*core.store, *core.dispatch, *publisher, *pool,
                                                    core.clock, options);
  workers::MaintenanceTimer::Options timer;
  timer.data_dir = settings.data_dir;
  if (presence) timer.host_maintains = [this] { return presence->maintains(); };
  timer.boot_id = core.clock.boot_id();
  maintenance_timer =
      std::make_unique<workers::MaintenanceTimer>(*loop, *pool, *core.store, *maintenance, timer);
  publisher->on_activity([this](bool delayed) { maintenance_timer->request_round(delayed); });
}

// The issuer of SSH sessions and the process that runs machines both sign certificates.
base::Status Gateway::Impl::open_authority() {
  if (!roles.api && !runs(schemas::Kind::kExec)) return {};
  auto opened = api::authority_of(*core.store);
  if (!opened) return opened.error();
  authority = *std::move(opened);
  return {};
}

base::Status Gateway::Impl::add_worker() {
  auto opened = WorkerComponent::open(settings, roles.kinds,
                                      {{*core.store, *core.dispatch, *pool, core.clock, core.metrics},
                                       *loop,
                                       authority,
                                       inference.get(),
                                       presence.get()});
  if (!opened) return opened.error();
  worker = *std::move(opened);
  publisher->on_cancel_request(worker->worker().on_cancel_request());
  add_looks_for_jobs();
  return {};
}

void Gateway::Impl::add_looks_for_jobs() {
  const auto look = worker->worker().on_queued_elsewhere();
  core.events->on_queued_elsewhere(look);
  if (!presence || !core.dispatch->durable()) return;
  // Any process may get the token of a command, but only the host of its machine can run it.
  core.events->subscribe([look](const schemas::JobChange& change) {
    const bool is_of_machine =
        change.job.kind == schemas::Kind::kExec || change.job.kind == schemas::Kind::kMachine;
    if (is_of_machine && change.status == schemas::JobStatus::kQueued) look(change.job.kind);
  });
}

void Gateway::Impl::add_inference() {
  if (roles.api) speech = std::make_unique<SpeechComponent>(settings, core.metrics);
  inference = std::make_unique<InferenceComponent>(
      settings, *loop, *pool, core.metrics, speech ? speech->local() : millrace::inference::LocalSpeech());
  if (presence) presence->on_model_processes([this](int processes) { inference->share_limits(processes); });
}

// A separate worker without machines in its file leaves the machines to the gateway that has them.
base::Status Gateway::Impl::add_file_machines() {
  if (!roles.api && settings.machines.empty()) return {};
  return apply_machines(*core.store, settings.machines);
}

api::Options Gateway::Impl::api_options() const {
  api::Options options;
  if (worker && worker->executions_off()) {
    options.executions_off = "commands cannot run on this host; `millrace doctor` shows the reason";
  }
  if (presence) options.api_processes = [this] { return presence->api_processes(); };
  options.public_url = settings.public_url;
  options.metrics_open = settings.metrics_open;
  options.hosts = settings.http_hosts;
  options.cors_origins = settings.http_cors_origins;
  options.body_budget_bytes = static_cast<std::size_t>(settings.http_body_budget_bytes);
  options.reply_bytes_max = static_cast<std::size_t>(settings.ocr_reply_max_bytes);
  options.reply_budget_bytes = static_cast<std::size_t>(settings.http_reply_budget_bytes);
  options.original_request_bytes_max = static_cast<std::size_t>(settings.http_original_request_max_bytes);
  options.pictures_per_tenant = settings.pictures_per_tenant;
  options.failed_keys_per_minute = settings.failed_keys_per_minute;
  options.streams_per_key = settings.streams_per_key;
  if (!settings.single_tenant)  // some connections stay free for other tenants
    options.requests_per_tenant = std::max(1, settings.http_connections_max * 3 / 4);
  options.sync_wait = settings.ocr_wait;
  options.stt_wait = settings.stt_wait;
  options.transcription_models = local_transcription_models(settings);
  options.tells_speakers_apart = can_tell_speakers_apart(settings);
  if (speech) options.voice_models = speech->voice_models();
  options.run_at_max = settings.jobs_run_at_max;
  options.batches = settings.batches;
  options.webhook_guard = webhook_guard;
  options.webhooks_per_tenant = settings.webhooks_per_tenant;
  options.webhook_rotation = settings.webhook_rotation;
  options.ssh_lifetime = settings.ssh_lifetime;
  options.chat_heartbeat = settings.chat_heartbeat;
  return options;
}

void Gateway::Impl::add_webhook_sender(const std::string& secret_key) {
  api::WebhookSender::Options options;
  options.timeout = settings.webhook_timeout;
  options.retries = settings.webhook_retries;
  webhook_sender = std::make_unique<api::WebhookSender>(
      api::WebhookSender::Dependencies{*core.store, *loop, *pool, core.metrics, webhook_guard, secret_key},
      std::move(options));
  publisher->on_webhooks(webhook_sender->on_recorded());
  webhook_sender->start();
}

base::Status Gateway::Impl::start_api() {
  auto pepper = api::pepper_of(*core.store);
  if (!pepper) return pepper.error();
  if (base::Status made = api::ensure_admin_key(*core.store, *pepper); !made)
    return base::error(made.error().code,
                       settings.data_dir + ": " + made.error().message + disk_figures(*core.store));
  auto secret_key = api::secret_key_of(*core.store);
  if (!secret_key) return secret_key.error();
  add_webhook_sender(*secret_key);
  api::Service::Dependencies dependencies{.store = *core.store,
                                          .submit = *submit,
                                          .waiters = *waiters,
                                          .pool = *pool,
                                          .loop = *loop,
                                          .metrics = core.metrics,
                                          .clock = core.clock,
                                          .model_lists = inference->model_lists(),
                                          .chat = inference->chat(),
                                          .dispatch_health = {},
                                          .options = {}};
  dependencies.dispatch_health = [this] {
    bus::HealthReport report = core.dispatch->health();
    if (const auto hints = core.events->health();
        report.health == bus::Health::kUp && hints.health != bus::Health::kUp)
      report = hints;
    return api::DispatchHealth{report.health == bus::Health::kUp, report.detail};
  };
  dependencies.secret_key = *std::move(secret_key);
  dependencies.ssh_authority = authority;
  dependencies.feed = &feed;
  if (runs(schemas::Kind::kOcr)) dependencies.fetch_guard = &fetch_guard;
  pictures = std::make_unique<PictureComponent>(settings, core.metrics);
  dependencies.pictures = pictures->pictures();
  dependencies.options = api_options();
  service = std::make_unique<api::Service>(std::move(dependencies), *std::move(pepper));
  if (base::Status started = service->start(); !started) return started;
  front::Server::Options options = server_options(settings);
  options.extra_fds.push_back(completions_fd(*core.store));
  if (inference) options.extra_fds.push_back(replies_fd(inference->client()));
  server = std::make_unique<front::Server>(std::move(options), *service);
  add_server_metrics(core.metrics, *server);
  return server->start();
}

base::Status Gateway::Impl::start_metrics_listener() {
  if (!settings.metrics_listen) return {};
  auto opened =
      MetricsComponent::open(settings, {*core.store, *pool, core.metrics, settings.failed_keys_per_minute});
  if (!opened) return opened.error();
  metrics_listener = *std::move(opened);
  return {};
}

void Gateway::Impl::stop() {
  if (metrics_listener) metrics_listener->stop();
  if (server) server->stop();
  if (service) service->stop();
  if (webhook_sender) webhook_sender->stop();
  if (worker) worker->stop_claiming(std::chrono::milliseconds(0));
  if (presence) presence->on_model_processes({});
  core.dispatch->stop(std::chrono::seconds(2));
  core.events->stop(std::chrono::seconds(1));
  worker.reset();
  inference.reset();
  speech.reset();
  if (maintenance_timer) maintenance_timer->stop(std::chrono::seconds(2));
  if (presence) presence->leave();  // a newer program may change the schema from here on
  if (core.store) core.store->close();
  if (pool) pool->close();
  pictures.reset();  // tasks of the pool may still have used it
  if (loop) loop->stop();
}

base::Result<std::unique_ptr<Gateway>> Gateway::start(const Settings& settings, const Roles& roles) {
  if (roles.api) {  // before the data directory is created
    const base::Status free = front::Server::try_address(server_options(settings));
    if (!free) return free.error();
  }
  auto impl = std::make_unique<Impl>(settings, roles);
  std::unique_ptr<Gateway> gateway(new Gateway(std::move(impl)));
  Impl& p = *gateway->impl_;
  if (base::Status opened = p.open_store(); !opened) return opened.error();
  if (base::Status opened = p.add_presence(); !opened) return opened.error();
  if (base::Status opened = p.open_authority(); !opened) return opened.error();
  if (roles.api || p.runs(schemas::Kind::kChat) || p.runs(schemas::Kind::kOcr) || p.runs(schemas::Kind::kStt))
    p.add_inference();
  p.add_maintenance();
  p.publisher->start();
  if (base::Status taken = p.add_file_machines(); !taken) return taken.error();
  if (!roles.kinds.empty()) {  // it creates `local` if no machine has that name
    if (base::Status added = p.add_worker(); !added) return added.error();
  }
  if (base::Status started = p.core.events->start(); !started) return started.error();
  if (roles.api) {  // before the first claim, so that an address in use affects no job
    if (base::Status started = p.start_api(); !started) return started.error();
  }
  if (base::Status started = p.start_metrics_listener(); !started) return started.error();
  if (p.worker) p.worker->start();
  if (base::Status started = p.core.dispatch->start(); !started) return started.error();
  if (base::Status started = p.maintenance_timer->start(); !started) return started.error();
  return gateway;
}

Gateway::Gateway(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Gateway::~Gateway() { impl_->stop(); }

std::string Gateway::url() const {
  return impl_->server ? listener_url(impl_->settings.listen.host, impl_->server->port()) : "";
}
std::string Gateway::metrics_url() const {
  return impl_->metrics_listener ? impl_->metrics_listener->url() : "";
}
std::string Gateway::name() const { return impl_->worker ? impl_->worker->worker().name() : ""; }

bool Gateway::runs_commands() const { return impl_->worker && impl_->worker->has_sandbox(); }

base::Status Gateway::reload_machines(std::vector<schemas::Machine> machines) {
  return apply_machines(*impl_->core.store, std::move(machines));
}

void Gateway::reload_models(const inference::ModelSettings& models) {
  if (impl_->inference) impl_->inference->reload(models);
}

// Requests that are under way have drain.timeout without the last part, which is for responses that were cut
// off or are not read, and for jobs to be handed over. Jobs have their grace meanwhile (Worker).
void Gateway::drain() {
  using std::chrono::milliseconds;
  const milliseconds total = impl_->settings.drain_timeout;
  const milliseconds last_part = std::min<milliseconds>(kHandOverMax, total / 3);
  const auto begun = std::chrono::steady_clock::now();
  const auto until = [&](milliseconds end) {  // since `begun`
    const auto passed = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun);
    return std::max(end - passed, milliseconds(0));
  };
  if (impl_->service) impl_->service->refuse_new();
  if (impl_->server) impl_->server->refuse_new();
  if (impl_->worker) impl_->worker->stop_claiming(total / 12);
  if (impl_->service) impl_->service->drain(until(total - last_part));
  if (impl_->server) impl_->server->drain(until(total - last_part * 3 / 4));
  if (impl_->worker) impl_->worker->drain(until(total - last_part / 4));
}

}  // namespace millrace::app

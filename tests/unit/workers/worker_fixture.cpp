#include "tests/unit/workers/worker_fixture.h"

#include <stdexcept>

#include "workers/payload.h"

namespace millrace::workers {
namespace {

constexpr int kEventsRead = 100;

class ScriptedRun final : public Run {
 public:
  ScriptedRun(Script& script, std::mutex& mutex, std::condition_variable& changed, Script::HeldPtr held)
      : script_(script), mutex_(mutex), changed_(changed), held_(std::move(held)) {}

  void stop(StopReason why) override {
    bool end = false;
    {
      const std::lock_guard lock(mutex_);
      held_->stops.push_back(why);
      end = script_.obeys && !std::exchange(held_->over, script_.obeys.load());
    }
    changed_.notify_all();
    if (end) held_->ended(Cancelled{});
  }

 private:
  Script& script_;
  std::mutex& mutex_;
  std::condition_variable& changed_;
  Script::HeldPtr held_;
};

}  // namespace

std::shared_ptr<Run> ScriptedRunner::start(const storage::ClaimedJob& job, AttemptContext& context,
                                           Ended ended) {
  auto held = std::make_shared<Script::HeldAttempt>();
  held->job = job;
  held->context = &context;
  held->ended = std::move(ended);
  auto run = std::make_shared<ScriptedRun>(script_, script_.mutex_, script_.changed_, held);
  {
    const std::lock_guard lock(script_.mutex_);
    script_.held_.push_back(held);
  }
  script_.changed_.notify_all();
  if (script_.instant) held->ended(Succeeded{});
  return run;
}

WorkerFixture::WorkerFixture(Options chosen)
    : options(std::move(chosen)), clock(options.clock ? options.clock : &system_clock) {
  storage::Store::Options store_options;
  store_options.data_dir = dir.str();
  store_options.disk_free_min_bytes = 0;
  store_options.open_blobs = options.open_blobs;
  store_options.stuck_lock_after = options.stuck_lock_after;
  auto opened = storage::Store::open(store_options, *clock);
  if (!opened) throw std::runtime_error(opened.error().message);
  store = std::move(*opened);
  waiters = std::make_unique<jobs::Waiters>(*store);
  relay = std::make_unique<jobs::OutboxPublisher>(*store, dispatch, events, *waiters);
  submitter = std::make_unique<jobs::JobSubmitter>(*store, *clock);
  if (options.with_maintenance) add_maintenance();
  relay->start();
  if (maintenance_timer && !maintenance_timer->start()) throw std::runtime_error("no maintenance lock");
  if (options.with_worker) worker = make_worker(script, options.worker_name);
  if (!dispatch.start() || !events.start()) throw std::runtime_error("the local bus did not start");
}

void WorkerFixture::add_maintenance() {
  upkeep = std::make_unique<jobs::Maintenance>(*store, dispatch, *relay, pool, *clock,
                                               jobs::Maintenance::Options{});
  MaintenanceTimer::Options timer;
  timer.data_dir = dir.str();
  timer.boot_id = clock->boot_id();
  maintenance_timer = std::make_unique<MaintenanceTimer>(maintenance_loop, pool, *store, *upkeep, timer);
  relay->on_activity([this](bool delayed) { maintenance_timer->request_round(delayed); });
}

WorkerFixture::~WorkerFixture() {
  if (worker) worker->drain(std::chrono::seconds(5));
  dispatch.stop(std::chrono::seconds(1));
  events.stop(std::chrono::seconds(1));
  worker.reset();
  if (maintenance_timer) maintenance_timer->stop(std::chrono::seconds(5));
  pool.close();
  store->close();
  maintenance_loop.stop();
}

std::unique_ptr<Worker> WorkerFixture::bare_worker(const std::string& name) {
  Worker::Options worker_options;
  worker_options.data_dir = dir.str();
  worker_options.name = name;
  worker_options.lease = options.lease;
  worker_options.poll_interval_min = options.poll_interval_min;
  worker_options.poll_interval_max = options.poll_interval_max;
  worker_options.drain_grace = options.drain_grace;
  auto made = Worker::make(worker_options, dependencies());
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

std::unique_ptr<Worker> WorkerFixture::make_worker(Script& of, const std::string& name) {
  auto made = bare_worker(name);
  made->add(schemas::Kind::kOcr, {options.slots, options.reserved_slots},
            std::make_unique<ScriptedRunner>(of));
  made->start();
  return made;
}

schemas::JobId WorkerFixture::submit(const std::string& tenant, const std::string& spec) {
  storage::Submission order;
  order.id = submitter->new_id(schemas::Kind::kOcr);
  order.tenant = tenant;
  order.model = "millrace/ocr";
  order.spec = spec;
  return submitted(std::move(order));
}

schemas::JobId WorkerFixture::submit(storage::Submission order) {
  order.tenant = "default";
  return submitted(std::move(order));
}

schemas::JobId WorkerFixture::submitted(storage::Submission order) {
  Answer<storage::Submitted> answer;
  submitter->submit(std::move(order), answer.take());
  const auto made = answer.wait();
  if (!made) throw std::runtime_error(made.error().message);
  return made->job;
}

schemas::JobView WorkerFixture::view(const schemas::JobId& job, const std::string& tenant) {
  auto found = storage::JobQueries(*store).job(tenant, job);
  if (!found) throw std::runtime_error(found.error().message);
  return *found;
}

std::vector<std::string> WorkerFixture::event_types(const schemas::JobId& job) {
  std::vector<std::string> types;
  const auto found = storage::JobQueries(*store).events("default", job, 0, kEventsRead);
  for (const schemas::JobEvent& event : found.value()) types.push_back(event.type);
  return types;
}

std::optional<std::string> WorkerFixture::result_text(const schemas::JobId& job) {
  auto stored = storage::JobQueries(*store).result("default", job);
  if (!stored || !stored->payload) return std::nullopt;
  return read_payload(store->blobs(), std::move(*stored->payload)).value();
}

bool WorkerFixture::reaches(const schemas::JobId& job, schemas::JobStatus status, const std::string& tenant) {
  return support::wait_until([&] { return view(job, tenant).status == status; });
}

}  // namespace millrace::workers

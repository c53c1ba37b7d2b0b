#include "tests/bench/jobs/job_core.h"

#include "bus/kafka/kafka_dispatch.h"

namespace millrace::bench {
namespace {

constexpr std::size_t kSpecBytes = 1000;

std::unique_ptr<bus::Dispatch> make_dispatch(const std::string& kafka) {
  if (kafka.empty()) return std::make_unique<bus::LocalDispatch>();
  bus::KafkaDispatch::Options options;
  options.cluster.brokers = {kafka};
  return std::make_unique<bus::KafkaDispatch>(std::move(options));
}

}  // namespace

base::Result<std::unique_ptr<JobCore>> JobCore::open(Options options, Finished finished) {
  std::unique_ptr<JobCore> core(new JobCore(std::move(options)));
  storage::Store::Options store;
  store.data_dir = core->options_.data_dir;
  store.url = core->options_.url;
  store.outbox = !core->options_.kafka.empty();
  auto opened = storage::Store::open(std::move(store), core->clock_);
  if (!opened) return opened.error();
  core->store_ = *std::move(opened);
  core->dispatch_ = make_dispatch(core->options_.kafka);
  core->pool_ = std::make_unique<base::Pool>(base::Pool::Options{});
  core->loop_ = std::make_unique<net::Loop>("bench-loop");
  core->waiters_ = std::make_unique<jobs::Waiters>(*core->store_);
  core->submit_ = std::make_unique<jobs::JobSubmitter>(*core->store_, core->clock_);
  core->relay_ = std::make_unique<jobs::OutboxPublisher>(*core->store_, *core->dispatch_, core->events_,
                                                         *core->waiters_);
  core->maintenance_ =
      std::make_unique<jobs::Maintenance>(*core->store_, *core->dispatch_, *core->relay_, *core->pool_,
                                          core->clock_, jobs::Maintenance::Options{});
  workers::MaintenanceTimer::Options timer;
  timer.data_dir = core->options_.data_dir;
  timer.boot_id = core->clock_.boot_id();
  core->maintenance_timer_ = std::make_unique<workers::MaintenanceTimer>(
      *core->loop_, *core->pool_, *core->store_, *core->maintenance_, timer);
  core->relay_->on_activity(
      [timer = core->maintenance_timer_.get()](bool delayed) { timer->request_round(delayed); });
  core->events_.subscribe([finished = std::move(finished)](const schemas::JobChange& hint) {
    if (schemas::is_terminal(hint.status)) finished(hint.job, hint.status);
  });
  core->relay_->start();
  if (const auto started = core->events_.start(); !started) return started.error();
  return core;
}

JobCore::~JobCore() { close(); }

void JobCore::submit(const schemas::JobId& id, std::function<void(const base::Status&)> stored) {
  storage::Submission order;
  order.id = id;
  order.tenant = "default";
  order.model = "noop";
  order.spec = R"({"text":")" + std::string(kSpecBytes, 'x') + R"("})";
  submit_->submit(std::move(order),
                  [stored = std::move(stored)](const base::Result<storage::Submitted>& made) {
                    stored(made ? base::Status() : base::Status(made.error()));
                  });
}

base::Status JobCore::start_worker(NoopRunner::Started started) {
  workers::Worker::Options options;
  options.data_dir = options_.data_dir;
  auto made = workers::Worker::make(std::move(options), {*store_, *dispatch_, *pool_, clock_, metrics_});
  if (!made) return made.error();
  worker_ = *std::move(made);
  worker_->add(schemas::Kind::kOcr, {options_.slots, options_.reserved_slots},
               std::make_unique<NoopRunner>(std::move(started)));
  worker_->start();
  return {};
}

base::Status JobCore::start_bus() {
  if (auto started = dispatch_->start(); !started) return started;
  return maintenance_timer_->start();
}

void JobCore::close() {
  if (!loop_) return;
  if (worker_) worker_->drain(std::chrono::seconds(10));
  dispatch_->stop(std::chrono::seconds(2));
  events_.stop(std::chrono::seconds(1));
  worker_.reset();
  maintenance_timer_->stop(std::chrono::seconds(2));
  store_->close();
  pool_->close();
  loop_->stop();
  loop_.reset();
}

}  // namespace millrace::bench

#include "app/components/worker_component.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <system_error>
#include <utility>

#include "api/admission/keys.h"
#include "app/components/audio_components.h"
#include "app/components/host_lock.h"
#include "app/components/machine_component.h"
#include "app/components/ocr_component.h"
#include "platform/base/log.h"
#include "workers/chat/chat_run.h"

namespace millrace::app {
namespace {

using schemas::Kind;

constexpr std::chrono::seconds kWorkerEnd{15};  // > Worker::Options::drain_grace
constexpr int kMachineSlots = 4;                // concurrent machine operations; they mostly wait

workers::Worker::Options worker_options(const Settings& settings) {
  workers::Worker::Options options;
  options.data_dir = settings.data_dir;
  options.host = settings.host_name;
  options.name = settings.worker_name;
  options.drain_grace = std::min<std::chrono::milliseconds>(options.drain_grace, settings.drain_timeout / 3);
  return options;
}

}  // namespace

// Members are built in declaration order. What a runner uses is destroyed after the worker.
struct WorkerComponent::Impl {
  Impl(const Settings& s, Dependencies g) : settings(s), dependencies(std::move(g)) {}

  const Settings settings;
  const Dependencies dependencies;
  std::string secret_key;
  std::unique_ptr<HostLock> host_lock;
  std::unique_ptr<MachineComponent> machines;
  std::unique_ptr<OcrComponent> ocr;
  std::unique_ptr<TranscriptionComponent> stt;
  std::unique_ptr<workers::Worker> worker;
  bool host_lock_taken = false;  // the lock was taken, or waiting for it has ended
  bool executions_off = false;
  std::atomic<bool> has_sandbox{false};

  workers::Worker::Slots slots(Kind kind) const {
    return {settings.slots.at(kind), settings.reserved_slots(kind)};
  }
  base::Status add(Kind kind);
  base::Status add_ocr();
  base::Status add_stt();
  void add_chat();
  base::Status sit_down();
  base::Status add_machines();
  base::Status place_machines();
  void take_over();
};

base::Status WorkerComponent::Impl::add(Kind kind) {
  switch (kind) {
    case Kind::kOcr:
      return add_ocr();
    case Kind::kStt:
      return add_stt();
    case Kind::kExec:
      return sit_down();
    case Kind::kChat:
      add_chat();
      break;
    case Kind::kMachine:  // implied by kExec
      break;
  }
  return {};
}

base::Status WorkerComponent::Impl::add_ocr() {
  const workers::Worker::Dependencies& base = dependencies.worker;
  auto component = OcrComponent::open(settings, worker->loop(), base.pool, base.store, base.metrics);
  if (!component) return component.error();
  ocr = *std::move(component);
  worker->add(Kind::kOcr, slots(Kind::kOcr), ocr->make_runner(*dependencies.inference, secret_key));
  return {};
}

base::Status WorkerComponent::Impl::add_stt() {
  auto component = TranscriptionComponent::open(settings, dependencies.worker.metrics);
  if (!component) return component.error();
  stt = *std::move(component);
  worker->add(Kind::kStt, slots(Kind::kStt),
              stt->make_runner(*dependencies.inference, dependencies.worker.pool));
  return {};
}

void WorkerComponent::Impl::add_chat() {
  const workers::ChatSource source{dependencies.inference->chat(), dependencies.inference->loop()};
  worker->add(Kind::kChat, slots(Kind::kChat), std::make_unique<workers::ChatRunner>(source, secret_key));
}

base::Status WorkerComponent::Impl::sit_down() {
  auto opened = HostLock::open(settings.data_dir);
  if (!opened) return opened.error();
  host_lock = *std::move(opened);
  host_lock_taken = host_lock->take();
  if (host_lock_taken) return add_machines();
  base::log_info("machines_owned_elsewhere", {{"worker", worker->name()}, {"holder", host_lock->holder()}});
  return {};
}

base::Status WorkerComponent::Impl::place_machines() {
  if (!dependencies.presence) return {};
  dependencies.presence->set_runs_machines();
  return storage::Processes(dependencies.worker.store)
      .adopt_machines(settings.host_name, [this](const base::Uuid& machine) {
        std::error_code unreadable;
        return std::filesystem::exists(settings.data_dir + "/machines/" + schemas::machine_id(machine),
                                       unreadable);
      });
}

// If no kind of machine can be used, no command runs; everything else works.
base::Status WorkerComponent::Impl::add_machines() {
  machines = MachineComponent::open(settings, {dependencies.worker.store, dependencies.loop,
                                               dependencies.authority, worker->incarnation()});
  if (!machines->findings().runs_commands()) {
    machines.reset();
    executions_off = true;
    host_lock->give_up();
    return {};
  }
  worker->add(Kind::kExec, slots(Kind::kExec), machines->make_exec_runner(secret_key));
  worker->add(Kind::kMachine, {kMachineSlots, kMachineSlots}, machines->make_machine_runner());
  if (!machines->findings().sandbox_off.empty()) return {};
  has_sandbox = true;
  if (auto placed = place_machines(); !placed) return placed;
  return ensure_local_machine(dependencies.worker.store);
}

// Runs on the thread of the host lock.
void WorkerComponent::Impl::take_over() {
  base::log_info("machines_taken_over", {{"worker", worker->name()}});
  if (const base::Status added = add_machines(); !added)
    base::log_error("machines_takeover_failed", {{"error", added.error().message}});
}

base::Result<std::unique_ptr<WorkerComponent>> WorkerComponent::open(const Settings& settings,
                                                                     const std::vector<Kind>& kinds,
                                                                     Dependencies dependencies) {
  auto key = api::secret_key_of(dependencies.worker.store);
  if (!key) return key.error();
  auto parts = std::make_unique<Impl>(settings, std::move(dependencies));
  parts->secret_key = *std::move(key);
  auto made = workers::Worker::make(worker_options(settings), parts->dependencies.worker);
  if (!made) return made.error();
  parts->worker = *std::move(made);
  if (parts->dependencies.presence) {
    storage::Processes processes(parts->dependencies.worker.store);
    const storage::WorkerReport own{.worker = parts->worker->name(),
                                    .incarnation = parts->worker->incarnation(),
                                    .host = settings.host_name,
                                    .version = MILLRACE_VERSION,
                                    .slots = {}};
    const base::Status added = take_name(own.worker, [&] { return processes.add_worker(own); });
    if (!added) return added.error();
  }
  std::unique_ptr<WorkerComponent> component(new WorkerComponent(std::move(parts)));
  for (const Kind kind : kinds) {
    if (const base::Status added = component->impl_->add(kind); !added) return added.error();
  }
  return component;
}

WorkerComponent::WorkerComponent(std::unique_ptr<Impl> parts) : impl_(std::move(parts)) {}

WorkerComponent::~WorkerComponent() {
  Impl& p = *impl_;
  if (p.host_lock) p.host_lock->stop_waiting();
  p.worker->drain(kWorkerEnd);  // returns at once if it has drained
  p.ocr.reset();
  p.stt.reset();
  p.worker.reset();
  p.machines.reset();  // its commands have ended with their runner
}

void WorkerComponent::start() {
  Impl& p = *impl_;
  p.worker->start();
  if (p.host_lock && !p.host_lock_taken) p.host_lock->wait([&p] { p.take_over(); });
}

bool WorkerComponent::stop_claiming(std::chrono::milliseconds deadline) {
  if (impl_->host_lock) impl_->host_lock->stop_waiting();
  return impl_->worker->stop_claiming(deadline);
}

bool WorkerComponent::drain(std::chrono::milliseconds deadline) { return impl_->worker->drain(deadline); }

const workers::Worker& WorkerComponent::worker() const { return *impl_->worker; }
bool WorkerComponent::has_sandbox() const { return impl_->has_sandbox; }
bool WorkerComponent::executions_off() const { return impl_->executions_off; }

}  // namespace millrace::app

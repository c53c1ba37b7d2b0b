#include "app/components/worker_component.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "api/admission/keys.h"
#include "app/components/audio_components.h"
#include "app/components/host_lock.h"
#include "app/components/machine_component.h"
#include "app/components/ocr_component.h"
#include "platform/base/log.h"
#include "workers/chat/chat_runner.h"

namespace millrace::app {
namespace {

using schemas::Kind;

constexpr std::chrono::seconds kWorkerEnd{15};  // > Worker::Options::drain_grace
constexpr int kMachineSlots = 4;                // acts of machines at once; they mostly wait

workers::Worker::Options worker_options(const Settings& settings) {
  workers::Worker::Options options;
  options.data_dir = settings.data_dir;
  options.name = settings.worker_name;
  options.drain_grace = std::min<std::chrono::milliseconds>(options.drain_grace, settings.drain_timeout / 3);
  return options;
}

}  // namespace

// Declaration order is the order of building; what a runner stands on goes after the worker.
struct WorkerRoom::Parts {
  Parts(const Settings& s, Ground g) : settings(s), ground(std::move(g)) {}

  const Settings settings;
  const Ground ground;
  std::unique_ptr<MachineSeat> seat;
  std::unique_ptr<MachineRoom> machines;
  std::unique_ptr<OcrEngineRoom> ocr;
  std::unique_ptr<SttEngineRoom> stt;
  std::unique_ptr<workers::Worker> worker;
  bool seat_taken = false;  // by now, or given up for good
  bool executions_off = false;
  std::atomic<bool> has_sandbox{false};

  base::Status add(Kind kind);
  base::Status add_ocr();
  base::Status add_stt();
  void add_chat();
  base::Status sit_down();
  base::Status add_machines();
  void take_over();
};

base::Status WorkerRoom::Parts::add(Kind kind) {
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
    case Kind::kMachine:  // comes with kExec
      break;
  }
  return {};
}

base::Status WorkerRoom::Parts::add_ocr() {
  const workers::Worker::Ground& base = ground.worker;
  auto room = OcrEngineRoom::open(settings, worker->loop(), base.pool, base.store, base.metrics);
  if (!room) return room.error();
  ocr = *std::move(room);
  worker->add(Kind::kOcr, settings.slots.at(Kind::kOcr), ocr->make_runner(*ground.inference));
  return {};
}

base::Status WorkerRoom::Parts::add_stt() {
  auto room = SttEngineRoom::open(settings, ground.worker.metrics);
  if (!room) return room.error();
  stt = *std::move(room);
  worker->add(Kind::kStt, settings.slots.at(Kind::kStt),
              stt->make_runner(*ground.inference, ground.worker.pool));
  return {};
}

void WorkerRoom::Parts::add_chat() {
  const workers::ChatSource source{ground.inference->chat(), ground.inference->loop()};
  worker->add(Kind::kChat, settings.slots.at(Kind::kChat), std::make_unique<workers::ChatRunner>(source));
}

base::Status WorkerRoom::Parts::sit_down() {
  auto opened = MachineSeat::open(settings.data_dir);
  if (!opened) return opened.error();
  seat = *std::move(opened);
  seat_taken = seat->take();
  if (seat_taken) return add_machines();
  base::log_info("machines_elsewhere", {{"worker", worker->name()}, {"holder", seat->holder()}});
  return {};
}

// Where no machine of any kind can be used no command is run, and everything else goes on.
base::Status WorkerRoom::Parts::add_machines() {
  auto key = api::secret_key(settings.data_dir);
  if (!key) return key.error();
  machines = MachineRoom::open(settings,
                               {ground.worker.store, ground.loop, ground.authority, worker->incarnation()});
  if (!machines->findings().runs_commands()) {
    machines.reset();
    executions_off = true;
    seat->give_up();
    return {};
  }
  worker->add(Kind::kExec, settings.slots.at(Kind::kExec), machines->make_exec_runner(*std::move(key)));
  worker->add(Kind::kMachine, kMachineSlots, machines->make_machine_runner());
  if (!machines->findings().sandbox_off.empty()) return {};
  has_sandbox = true;
  return ensure_local_machine(ground.worker.store);
}

// On the seat's thread.
void WorkerRoom::Parts::take_over() {
  base::log_info("machines_taken_over", {{"worker", worker->name()}});
  if (const base::Status added = add_machines(); !added)
    base::log_error("machines_not_taken_over", {{"error", added.error().message}});
}

base::Result<std::unique_ptr<WorkerRoom>> WorkerRoom::open(const Settings& settings,
                                                           const std::vector<Kind>& kinds, Ground ground) {
  auto parts = std::make_unique<Parts>(settings, std::move(ground));
  auto made = workers::Worker::make(worker_options(settings), parts->ground.worker);
  if (!made) return made.error();
  parts->worker = *std::move(made);
  std::unique_ptr<WorkerRoom> room(new WorkerRoom(std::move(parts)));
  for (const Kind kind : kinds) {
    if (const base::Status added = room->parts_->add(kind); !added) return added.error();
  }
  return room;
}

WorkerRoom::WorkerRoom(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

WorkerRoom::~WorkerRoom() {
  Parts& p = *parts_;
  if (p.seat) p.seat->stop_waiting();
  p.worker->drain(kWorkerEnd);  // at once if it has drained
  p.ocr.reset();
  p.stt.reset();
  p.worker.reset();
  p.machines.reset();  // its commands end with their runner
}

void WorkerRoom::start() {
  Parts& p = *parts_;
  p.worker->start();
  if (p.seat && !p.seat_taken) p.seat->wait([&p] { p.take_over(); });
}

bool WorkerRoom::stop_claiming(std::chrono::milliseconds deadline) {
  if (parts_->seat) parts_->seat->stop_waiting();
  return parts_->worker->stop_claiming(deadline);
}

bool WorkerRoom::drain(std::chrono::milliseconds deadline) { return parts_->worker->drain(deadline); }

const workers::Worker& WorkerRoom::worker() const { return *parts_->worker; }
bool WorkerRoom::has_sandbox() const { return parts_->has_sandbox; }
bool WorkerRoom::executions_off() const { return parts_->executions_off; }

}  // namespace millrace::app

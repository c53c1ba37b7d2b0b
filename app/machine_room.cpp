#include "app/machine_room.h"

#include <future>
#include <utility>

#include "machines/sandbox.h"
#include "platform/base/ids.h"
#include "platform/process/spawner.h"
#include "storage/machine_rows.h"
#include "workers/exec_runner.h"

namespace millrace::app {

// The spawner goes last: children follow its thread.
struct MachineRoom::Parts {
  Settings settings;
  process::Spawner spawner;
  std::unique_ptr<machines::Sandbox> sandbox;
};

base::Result<std::unique_ptr<MachineRoom>> MachineRoom::open(const Settings& settings) {
  auto parts = std::make_unique<Parts>();
  parts->settings = settings;
  auto sandbox = machines::Sandbox::open({.data_dir = settings.data_dir}, parts->spawner);
  if (!sandbox) return sandbox.error();
  parts->sandbox = *std::move(sandbox);
  return std::unique_ptr<MachineRoom>(new MachineRoom(std::move(parts)));
}

MachineRoom::MachineRoom(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
MachineRoom::~MachineRoom() = default;

std::unique_ptr<workers::Runner> MachineRoom::make_runner(std::string secret_key) {
  workers::ExecRunner::Options options;
  options.secret_key = std::move(secret_key);
  options.output_max = static_cast<std::size_t>(parts_->settings.exec_output_max_bytes);
  return std::make_unique<workers::ExecRunner>(*parts_->sandbox, std::move(options));
}

base::Status ensure_local_machine(storage::Store& store) {
  std::promise<base::Result<schemas::Machine>> made;
  storage::Machines(store).ensure_local(
      "default", base::Uuid::make(store.clock().wall()),
      [&](base::Result<schemas::Machine> machine) { made.set_value(std::move(machine)); });
  const auto machine = made.get_future().get();
  const bool destroyed = !machine && machine.error().code == base::Code::kNotFound;
  if (!machine && !destroyed) return machine.error();
  return {};
}

}  // namespace millrace::app

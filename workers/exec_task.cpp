#include "workers/exec_task.h"

#include <utility>

#include "platform/base/crypto.h"
#include "storage/job_queries.h"
#include "storage/machine_rows.h"
#include "workers/payload.h"

namespace millrace::workers {
namespace {

using base::Code;

constexpr std::string_view kExecutionName = "MILLRACE_EXECUTION_ID";
constexpr std::string_view kMachineName = "MILLRACE_MACHINE_ID";

base::Result<schemas::ExecutionSpec> spec_of(storage::Store& store, const storage::Claimed& job) {
  auto text = bytes_of(store.blobs(), {job.spec, job.spec_blob});
  if (!text) return text.error();
  auto spec = schemas::execution_spec_from_json(*text);
  if (!spec) return base::error(Code::kHostAgentFailed, "what the job was made from cannot be read");
  return spec;
}

// What went wrong is told without a byte of what was sealed.
base::Result<schemas::Environment> environment_of(storage::Store& store, const storage::Claimed& job,
                                                  const std::string& secret_key) {
  const auto sealed = storage::JobQueries(store).secret(job.lease.job);
  if (!sealed) return sealed.error();
  if (sealed->empty()) return schemas::Environment();
  const auto json = base::unseal(secret_key, job.lease.job.str(), *sealed);
  if (!json) {
    return base::error(Code::kHostAgentFailed,
                       "the command's environment cannot be opened: the gateway's secret key is another now");
  }
  auto environment = schemas::environment_from_json(*json);
  if (!environment) return base::error(Code::kHostAgentFailed, "the command's environment cannot be read");
  return environment;
}

base::Result<schemas::Machine> machine_of(storage::Store& store, const storage::Claimed& job,
                                          const base::Uuid& id) {
  auto machine = storage::Machines(store).machine(job.tenant, id);
  const bool missing = machine ? machine->desired == schemas::MachineState::kDestroyed
                               : machine.error().code == Code::kNotFound;
  if (missing) return base::error(Code::kMachineNotFound, "the machine is not there any more");
  return machine;
}

base::Result<std::string> input_of(storage::Store& store, const storage::Claimed& job) {
  if (!job.input) return std::string();
  return store.blobs().read(*job.input);
}

// Ours win over the request's.
void add_own(schemas::Environment& environment, const storage::Claimed& job, const base::Uuid& machine) {
  std::erase_if(environment, [](const auto& variable) {
    return variable.first == kExecutionName || variable.first == kMachineName;
  });
  environment.emplace_back(kExecutionName, job.lease.job.str());
  environment.emplace_back(kMachineName, schemas::machine_id(machine));
}

}  // namespace

base::Result<machines::CommandOrder> command_order(storage::Store& store, const storage::Claimed& job,
                                                   const std::string& secret_key) {
  auto spec = spec_of(store, job);
  if (!spec) return spec.error();
  auto machine = machine_of(store, job, spec->machine);
  if (!machine) return machine.error();
  auto input = input_of(store, job);
  if (!input) return input.error();
  auto environment = environment_of(store, job, secret_key);
  if (!environment) return environment.error();
  add_own(*environment, job, machine->id);
  machines::CommandOrder order;
  order.machine = *std::move(machine);
  order.execution = job.lease.job.str();
  order.command = std::move(spec->command);
  order.cwd = std::move(spec->cwd);
  order.environment = std::move(*environment);
  order.input = *std::move(input);
  order.timeout = spec->timeout;
  return order;
}

}  // namespace millrace::workers

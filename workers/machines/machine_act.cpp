#include "workers/machines/machine_act.h"

#include <chrono>
#include <string>
#include <utility>

#include "platform/base/log.h"
#include "storage/machines/machines.h"
#include "workers/machines/machine_wake.h"

namespace millrace::workers {
namespace {

using base::Code;
using schemas::MachineAct;
using std::chrono::milliseconds;

// The executions on a machine that is to be destroyed have been cancelled. They should end within a heartbeat
// and the stop's grace period; otherwise the act is postponed, which uses up no attempt.
constexpr milliseconds kQuietLook{200};
constexpr int kQuietLooks = 75;
constexpr milliseconds kPutOff{1'000};

Succeeded done(const schemas::ActResult& result) { return {{schemas::to_json(result), nullptr}}; }

// An unreachable machine keeps its error code; every other error becomes a failure to wake.
Fail not_awake(const base::Error& error) {
  Fail out{error, {}};
  if (error.code != Code::kMachineNotRoutable) out.error.code = Code::kMachineWakeFailed;
  return out;
}

// Temporary errors are retried.
Outcome not_stopped(const base::Error& error) {
  if (base::info(error.code).retry == base::RetryClass::kPermanent) return Fail{error, {}};
  return Retry{error};
}

class Act {
 public:
  Act(const ActDependencies& dependencies, const schemas::Machine& machine, machines::Driver& driver)
      : dependencies_(dependencies), machine_(machine), driver_(driver) {}

  Outcome wake() {
    const auto woken = apply_wake_rule(
        {dependencies_.dependencies.spawner, dependencies_.dependencies.http, dependencies_.stop}, machine_);
    if (!woken) return not_awake(woken.error());
    if (!*woken) return Abandoned{};
    return start();
  }

  Outcome sleep() {
    dependencies_.dependencies.close_ssh(machine_.id);
    if (const base::Status stopped = driver_.stop(machine_, dependencies_.stop); !stopped)
      return not_ended(stopped.error());
    return done({});
  }

  Outcome reboot() {
    dependencies_.dependencies.close_ssh(machine_.id);
    if (const base::Status stopped = driver_.stop(machine_, dependencies_.stop); !stopped)
      return not_ended(stopped.error());
    return start();
  }

  Outcome destroy() {
    if (auto put_off = wait_until_quiet()) return *std::move(put_off);
    dependencies_.dependencies.close_ssh(machine_.id);
    if (const base::Status gone = driver_.destroy(machine_, dependencies_.stop); !gone)
      return not_ended(gone.error());
    return done({});
  }

  Outcome open_ssh() {
    auto endpoint = dependencies_.dependencies.open_ssh(machine_);
    if (!endpoint) return Fail{base::error(Code::kMachineNotRoutable, endpoint.error().message), {}};
    return done({.facts = {}, .ssh = *std::move(endpoint)});
  }

 private:
  Outcome start() {
    auto facts = driver_.start(machine_, dependencies_.stop);
    if (!facts && dependencies_.stop.is_requested()) return Abandoned{};
    if (!facts) return not_awake(facts.error());
    return done({.facts = *std::move(facts), .ssh = {}});
  }

  Outcome not_ended(const base::Error& error) const {
    return dependencies_.stop.is_requested() ? Outcome(Abandoned{}) : not_stopped(error);
  }

  // nullopt: no execution runs on it.
  std::optional<Outcome> wait_until_quiet() {
    for (int look = 0; look < kQuietLooks; ++look) {
      const auto running = storage::Machines(dependencies_.store).running_on(machine_.id);
      if (!running) return Retry{running.error()};
      if (*running == 0) return std::nullopt;
      if (wait_for_cancel(dependencies_.stop, kQuietLook)) return Abandoned{};
    }
    base::Error busy = base::error(Code::kOverloaded, "executions still run on the machine: retry later");
    busy.retry_after = kPutOff;
    return Retry{std::move(busy)};
  }

  const ActDependencies& dependencies_;
  const schemas::Machine& machine_;
  machines::Driver& driver_;
};

Outcome act_on(const ActDependencies& dependencies, const schemas::Machine& machine, MachineAct act) {
  machines::Driver* driver = dependencies.dependencies.driver(machine.driver);
  if (!driver) return Fail{no_such_driver(machine.driver), {}};
  Act due(dependencies, machine, *driver);
  switch (act) {
    case MachineAct::kWake:
      return due.wake();
    case MachineAct::kSleep:
      return due.sleep();
    case MachineAct::kReboot:
      return due.reboot();
    case MachineAct::kDestroy:
      return due.destroy();
    case MachineAct::kOpenSsh:
      return due.open_ssh();
  }
  return Abandoned{};
}

void log_failure(const schemas::ActSpec& spec, const Outcome& outcome) {
  const auto* fail = std::get_if<Fail>(&outcome);
  const auto* retry = std::get_if<Retry>(&outcome);
  if (!fail && !retry) return;
  const base::Error& error = fail ? fail->error : retry->error;
  const std::string suffix = error.details.empty() ? "" : " " + error.details;
  base::log_warn("machine_operation_failed", {{"machine", schemas::machine_id(spec.machine)},
                                              {"act", schemas::name(spec.act)},
                                              {"again", retry != nullptr},
                                              {"why", error.message + suffix}});
}

}  // namespace

Outcome run_act(const ActDependencies& dependencies, const schemas::ActSpec& spec) {
  const auto machine = storage::Machines(dependencies.store).any(spec.machine);
  if (!machine && machine.error().code == Code::kNotFound) {
    return Fail{base::error(Code::kMachineNotFound, "the machine does not exist any more"), {}};
  }
  if (!machine) return Retry{machine.error()};
  if (!dependencies.start_allowed()) return Abandoned{};
  Outcome outcome = act_on(dependencies, *machine, spec.act);
  log_failure(spec, outcome);
  return outcome;
}

}  // namespace millrace::workers

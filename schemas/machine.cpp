#include "schemas/machine.h"

#include <array>
#include <charconv>

#include "schemas/json_text.h"

namespace millrace::schemas {
namespace {

constexpr std::string_view kPrefix = "dm-";

// The shortest text that reads back as `value`: "1", "0.5".
std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto [end, failed] = std::to_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() ? std::string(text.data(), end) : std::string("0");
}

// What a machine is doing. Its driver makes a jail for each command: it is where it is wanted at once.
std::string_view phase(MachineState desired) { return name(desired); }

std::string_view reason(MachineState desired) {
  switch (desired) {
    case MachineState::kRunning:
      return "ready";
    case MachineState::kSleeping:
      return "asleep";
    case MachineState::kDestroyed:
      return "destroyed";
  }
  return {};
}

std::string status_json(const Machine& machine) {
  const std::string since = base::rfc3339(machine.created_at);
  return JsonObject()
      .member("phase", phase(machine.desired))
      .member("reason", reason(machine.desired))
      .flag("retryable", false)
      .member("revision", "1")
      .member("last_transition_at", since)
      .member("last_progress_at", since)
      .number("memory_configured_mib", machine.memory_mib)
      .finish();
}

}  // namespace

std::string_view name(MachineDriver driver) {
  switch (driver) {
    case MachineDriver::kSandbox:
      return "sandbox";
    case MachineDriver::kSsh:
      return "ssh";
  }
  return {};
}

std::string_view name(MachineState state) {
  switch (state) {
    case MachineState::kRunning:
      return "running";
    case MachineState::kSleeping:
      return "sleeping";
    case MachineState::kDestroyed:
      return "destroyed";
  }
  return {};
}

std::optional<base::Uuid> machine_id_from(std::string_view text) {
  if (!text.starts_with(kPrefix)) return std::nullopt;
  return base::Uuid::parse(text.substr(kPrefix.size()));
}

std::string machine_id(const base::Uuid& id) {
  std::string out(kPrefix);
  id.append_to(out);
  return out;
}

std::string machine_json(const Machine& machine, bool with_status) {
  JsonObject out;
  out.member("machine_id", machine_id(machine.id))
      .member("name", machine.name)
      .member("driver", name(machine.driver))
      .raw("vcpu", number_text(machine.vcpu))
      .number("memory_mib", machine.memory_mib)
      .number("storage_gib", machine.storage_gib)
      .number("autosleep_seconds", machine.autosleep_seconds)
      .member("desired_state", name(machine.desired))
      .member("phase", phase(machine.desired))
      .member("created_at", base::rfc3339(machine.created_at));
  if (with_status) out.raw("status", status_json(machine));
  return out.finish();
}

}  // namespace millrace::schemas

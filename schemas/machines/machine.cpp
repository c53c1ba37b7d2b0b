#include "schemas/machines/machine.h"

#include <array>
#include <charconv>

#include "platform/base/bytes.h"
#include "schemas/json/json.h"
#include "schemas/json/json_text.h"
#include "schemas/prefixed_id.h"

namespace millrace::schemas {
namespace {

constexpr std::string_view kMachinePrefix = "dm-";

// The shortest text that parses to `value`: "1", "0.5".
std::string number_text(double value) {
  std::array<char, 32> text{};
  const auto [end, failed] = std::to_chars(text.data(), text.data() + text.size(), value);
  return failed == std::errc() ? std::string(text.data(), end) : std::string("0");
}

// A machine-readable reason in addition to the phase.
std::string_view reason(MachinePhase phase) {
  switch (phase) {
    case MachinePhase::kAccepted:
      return "waiting_for_worker";
    case MachinePhase::kStarting:
      return "waking";
    case MachinePhase::kRunning:
      return "ready";
    case MachinePhase::kStopping:
      return "falling_asleep";
    case MachinePhase::kSleeping:
      return "asleep";
    case MachinePhase::kDestroying:
      return "being_destroyed";
    case MachinePhase::kDestroyed:
      return "destroyed";
    case MachinePhase::kFailed:
      return "last_act_failed";
  }
  return {};
}

// Empty: none is known.
std::string disk_problem(const Machine& machine, bool host_disk_low) {
  if (machine.facts.disk == kReadOnlyDisk) return kReadOnlyDiskMessage;
  if (!host_disk_low || machine.driver != MachineDriver::kSandbox) return {};
  return "the disk of the machine's host is nearly full: writes on the machine may fail until its operator "
         "frees some space";
}

std::string status_json(const Machine& machine, bool host_disk_low) {
  JsonObject out;
  out.member("phase", name(machine.phase))
      .member("reason", reason(machine.phase))
      .flag("retryable", machine.phase == MachinePhase::kFailed)
      .member("revision", std::to_string(machine.revision))
      .member("last_transition_at", base::rfc3339(machine.changed_at))
      .member("last_progress_at", base::rfc3339(machine.progressed_at));
  if (!machine.last_error.empty()) out.member("last_error", machine.last_error);
  out.number("memory_configured_mib", machine.memory_mib);
  if (!machine.facts.limits.empty()) out.member("limits", machine.facts.limits);
  if (!machine.facts.disk.empty()) out.member("disk", machine.facts.disk);
  if (const std::string problem = disk_problem(machine, host_disk_low); !problem.empty())
    out.member("disk_problem", problem);
  return out.finish();
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
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

std::optional<MachineDriver> driver_named(std::string_view text) {
  for (const MachineDriver driver : {MachineDriver::kSandbox, MachineDriver::kSsh}) {
    if (name(driver) == text) return driver;
  }
  return std::nullopt;
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

std::string_view name(MachinePhase phase) {
  switch (phase) {
    case MachinePhase::kAccepted:
      return "accepted";
    case MachinePhase::kStarting:
      return "starting";
    case MachinePhase::kRunning:
      return "running";
    case MachinePhase::kStopping:
      return "stopping";
    case MachinePhase::kSleeping:
      return "sleeping";
    case MachinePhase::kDestroying:
      return "destroying";
    case MachinePhase::kDestroyed:
      return "destroyed";
    case MachinePhase::kFailed:
      return "failed";
  }
  return {};
}

std::optional<base::Uuid> machine_id_from(std::string_view text) { return uuid_after(kMachinePrefix, text); }

std::string machine_id(const base::Uuid& id) { return prefixed_id(kMachinePrefix, id); }

std::optional<std::int64_t> autosleep_seconds(std::string_view text) {
  if (text == "never") return 0;
  const auto time = base::parse_duration(is_digits(text) ? std::string(text) + "s" : std::string(text));
  if (!time || time->count() % 1000 != 0) return std::nullopt;
  const std::int64_t seconds = time->count() / 1000;
  if (seconds > kAutosleepMax) return std::nullopt;
  return seconds;
}

std::string machine_json(const Machine& machine, bool with_status, bool host_disk_low) {
  JsonObject out;
  out.member("machine_id", machine_id(machine.id))
      .member("name", machine.name)
      .member("driver", name(machine.driver))
      .raw("vcpu", number_text(machine.vcpu))
      .number("memory_mib", machine.memory_mib)
      .number("storage_gib", machine.storage_gib)
      .number("autosleep_seconds", machine.autosleep_seconds)
      .member("desired_state", name(machine.desired))
      .member("phase", name(machine.phase))
      .member("created_at", base::rfc3339(machine.created_at));
  if (machine.host && !machine.host->empty()) out.member("host", *machine.host);
  if (with_status) out.raw("status", status_json(machine, host_disk_low));
  return out.finish();
}

namespace {

base::Error broken() {
  return base::error(base::Code::kInternal, "the settings of a machine in the store are damaged");
}

std::string wake_json(const WakeRule& wake) {
  std::string command = "[";
  for (const std::string& word : wake.command) {
    if (command.size() > 1) command += ',';
    append_json_string(command, word);
  }
  return JsonObject()
      .raw("command", command + "]")
      .member("http", wake.http)
      .member("probe", wake.probe)
      .number("timeout_ms", wake.timeout.count())
      .finish();
}

std::string ssh_json(const SshTarget& ssh) {
  return JsonObject()
      .member("host", ssh.host)
      .number("port", ssh.port)
      .member("user", ssh.user)
      .member("host_key", ssh.host_key)
      .finish();
}

bool read(const Json& object, const char* name, std::string& out) {
  const auto at = object.find(name);
  if (at == object.end() || !at->is_string()) return false;
  at->get_to(out);
  return true;
}

bool read(const Json& object, const char* name, std::int64_t& out) {
  const auto at = object.find(name);
  if (at == object.end() || !at->is_number_integer()) return false;
  at->get_to(out);
  return true;
}

bool read(const Json& object, const char* name, std::vector<std::string>& out) {
  const auto at = object.find(name);
  if (at == object.end() || !at->is_array()) return false;
  for (const Json& each : *at) {
    if (!each.is_string()) return false;
    out.push_back(each.get<std::string>());
  }
  return true;
}

bool read_wake(const Json& value, WakeRule& out) {
  std::int64_t timeout_ms = 0;
  const bool good = value.is_object() && read(value, "command", out.command) &&
                    read(value, "http", out.http) && read(value, "probe", out.probe) &&
                    read(value, "timeout_ms", timeout_ms);
  out.timeout = std::chrono::milliseconds(timeout_ms);
  return good;
}

bool read_ssh(const Json& value, SshTarget& out) {
  std::int64_t port = 0;
  const bool good = value.is_object() && read(value, "host", out.host) && read(value, "port", port) &&
                    read(value, "user", out.user) && read(value, "host_key", out.host_key);
  out.port = static_cast<int>(port);
  return good;
}

}  // namespace

std::string to_json(const MachineSettings& settings) {
  JsonObject out;
  if (settings.network) out.flag("network", true);
  if (settings.wake) out.raw("wake", wake_json(*settings.wake));
  if (settings.ssh) out.raw("ssh", ssh_json(*settings.ssh));
  return out.finish();
}

base::Result<MachineSettings> machine_settings_from_json(std::string_view text) {
  const Json value = Json::parse(text, nullptr, false);
  if (!value.is_object()) return broken();
  MachineSettings out;
  if (const auto network = value.find("network"); network != value.end()) {
    if (!network->is_boolean()) return broken();
    network->get_to(out.network);
  }
  if (const auto wake = value.find("wake"); wake != value.end()) {
    if (!read_wake(*wake, out.wake.emplace())) return broken();
  }
  if (const auto ssh = value.find("ssh"); ssh != value.end()) {
    if (!read_ssh(*ssh, out.ssh.emplace())) return broken();
  }
  return out;
}

}  // namespace millrace::schemas

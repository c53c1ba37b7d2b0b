#include <nlohmann/json.hpp>

#include "schemas/json_text.h"
#include "schemas/machine.h"

namespace millrace::schemas {
namespace {

using nlohmann::json;

base::Error broken() {
  return base::error(base::Code::kInternal, "the settings of a machine are not what was written");
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

bool read(const json& object, const char* name, std::string& out) {
  const auto at = object.find(name);
  if (at == object.end() || !at->is_string()) return false;
  at->get_to(out);
  return true;
}

bool read(const json& object, const char* name, std::int64_t& out) {
  const auto at = object.find(name);
  if (at == object.end() || !at->is_number_integer()) return false;
  at->get_to(out);
  return true;
}

bool read(const json& object, const char* name, std::vector<std::string>& out) {
  const auto at = object.find(name);
  if (at == object.end() || !at->is_array()) return false;
  for (const json& each : *at) {
    if (!each.is_string()) return false;
    out.push_back(each.get<std::string>());
  }
  return true;
}

bool read_wake(const json& value, WakeRule& out) {
  std::int64_t timeout_ms = 0;
  const bool good = value.is_object() && read(value, "command", out.command) &&
                    read(value, "http", out.http) && read(value, "probe", out.probe) &&
                    read(value, "timeout_ms", timeout_ms);
  out.timeout = std::chrono::milliseconds(timeout_ms);
  return good;
}

bool read_ssh(const json& value, SshTarget& out) {
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
  const json value = json::parse(text, nullptr, false);
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

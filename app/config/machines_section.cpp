#include "app/config/machines_section.h"

#include <algorithm>
#include <array>
#include <map>

#include "app/config/section_map.h"
#include "platform/base/base64.h"
#include "platform/base/bytes.h"
#include "platform/base/net_address.h"

namespace millrace::app {
namespace {

using base::ConfigNode;
using schemas::Machine;
using schemas::MachineDriver;
using Mistakes = std::vector<base::ConfigMistake>;

constexpr std::array<std::string_view, 11> kMachineKeys{"id",      "name",       "driver",      "tenant",
                                                        "vcpu",    "memory_mib", "storage_gib", "autosleep",
                                                        "network", "wake",       "ssh"};
constexpr std::array<std::string_view, 4> kWakeKeys{"command", "http", "probe", "timeout"};
constexpr std::array<std::string_view, 4> kSshKeys{"host", "port", "user", "host_key"};
constexpr std::size_t kTenantMax = 64, kUserMax = 64;
constexpr std::chrono::milliseconds kWakeTimeoutMin{1'000}, kWakeTimeoutMax{3'600'000};
constexpr int kPortMax = 65'535;

// True for 1 to `most` letters, digits and . _ -
bool is_word(std::string_view text, std::size_t most) {
  constexpr std::string_view kCharacters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !text.empty() && text.size() <= most &&
         text.find_first_not_of(kCharacters) == std::string_view::npos;
}

bool is_web_url(std::string_view text) {
  const bool known = text.starts_with("http://") || text.starts_with("https://");
  const std::string_view rest = known ? text.substr(text.find("//") + 2) : std::string_view();
  return !rest.empty() && rest.front() != '/' && text.find_first_of(" \t\r\n") == std::string_view::npos;
}

bool is_tcp_url(std::string_view text) {
  constexpr std::string_view kTcp = "tcp://";
  return text.starts_with(kTcp) && base::parse_net_address(text.substr(kTcp.size()));
}

// True for a type and its key: "ssh-ed25519 AAAA…".
bool is_host_key(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) return false;
  const std::string_view type = text.substr(0, text.find_first_of("@ "));
  const std::string_view key = text.substr(space + 1);
  return is_word(type, kUserMax) && key.starts_with("AAAA") && base::base64_decode(key).has_value();
}

std::optional<schemas::WakeRule> read_wake(const ConfigNode& node, MachineDriver driver, Mistakes& mistakes) {
  SectionMap map(node, "machines.wake", kWakeKeys, mistakes);
  if (!map.is_map()) return std::nullopt;
  schemas::WakeRule wake;
  wake.command = map.words("command").value_or(std::vector<std::string>{});
  wake.http = map.text("http").value_or("");
  wake.probe = map.text("probe").value_or("");
  if (!wake.command.empty() && !wake.command.front().starts_with('/'))
    map.mistake("command", "the first word must be the full path of a program: /usr/bin/wakeonlan");
  if (!wake.http.empty() && !is_web_url(wake.http))
    map.mistake("http", "an http:// or https:// URL is expected");
  if (map.find("command") != nullptr && map.find("http") != nullptr)
    map.mistake("http", "set either command or http, not both");
  if (!wake.probe.empty() && !is_tcp_url(wake.probe) && !is_web_url(wake.probe))
    map.mistake("probe", "tcp://HOST:PORT or an http:// or https:// URL is expected");
  if (driver == MachineDriver::kSandbox && wake.command.empty() && wake.http.empty() && wake.probe.empty())
    map.mistake("command", "set command, http or probe");
  if (const auto text = map.text("timeout")) {
    const auto timeout = base::parse_duration(*text);
    const bool good = timeout && *timeout >= kWakeTimeoutMin && *timeout <= kWakeTimeoutMax;
    if (good) wake.timeout = *timeout;
    if (!good) map.mistake("timeout", "\"" + *text + "\" is not a duration from 1s to 1h, such as 2m");
  }
  return wake;
}

std::optional<schemas::SshTarget> read_ssh(const ConfigNode& node, Mistakes& mistakes) {
  SectionMap map(node, "machines.ssh", kSshKeys, mistakes);
  if (!map.is_map()) return std::nullopt;
  schemas::SshTarget target;
  target.host = map.text("host").value_or("");
  target.user = map.text("user").value_or("");
  target.host_key = map.text("host_key").value_or("");
  target.port = static_cast<int>(map.whole("port", 1, kPortMax).value_or(target.port));
  if (map.find("host") == nullptr) map.mistake("host", "is missing: driver ssh needs the machine's address");
  if (map.find("host") != nullptr && !base::is_host(target.host))
    map.mistake("host", "a host name or an address is expected; the port goes into ssh.port");
  if (map.find("user") == nullptr) map.mistake("user", "is missing: driver ssh needs a user to log in");
  const bool good_user = is_word(target.user, kUserMax) && target.user.front() != '-';
  if (map.find("user") != nullptr && !good_user)
    map.mistake("user", "1 to 64 of A-Z a-z 0-9 . _ - are expected, without a leading -");
  if (!target.host_key.empty() && !is_host_key(target.host_key))
    map.mistake("host_key", "a public host key is expected, as in: ssh-ed25519 AAAA…");
  return target;
}

// Records where each id and each name of a tenant is defined.
class Taken {
 public:
  void id(const base::Uuid& id, SectionMap& map) {
    if (const auto at = take(schemas::machine_id(id), map.place("id")); !at.empty())
      map.mistake("id", schemas::machine_id(id) + " is that of the machine at " + at + ", too");
  }
  void name(const std::string& tenant, const std::string& name, SectionMap& map) {
    if (const auto at = take(tenant + " " + name, map.place("name")); !at.empty())
      map.mistake("name", "the machine at " + at + " is called \"" + name + "\", too");
  }

 private:
  // Returns where it is already defined. Empty: it was new.
  std::string take(std::string what, const std::string& place) {
    const auto [at, inserted] = places_.emplace(std::move(what), place);
    return inserted ? std::string() : at->second;
  }
  std::map<std::string, std::string> places_;
};

class MachineReader {
 public:
  MachineReader(const ConfigNode& node, Taken& taken, Mistakes& mistakes)
      : taken_(taken), mistakes_(mistakes), map_(node, "machines", kMachineKeys, mistakes) {}

  Machine read() {
    machine_.source = schemas::MachineSource::kFile;
    machine_.tenant = "default";
    if (!map_.is_map()) return machine_;
    read_id();
    read_name();
    read_driver();
    read_size();
    machine_.settings.network = map_.flag("network").value_or(false);
    if (const ConfigNode* node = map_.find("wake"); node != nullptr)
      machine_.settings.wake = read_wake(*node, machine_.driver, mistakes_);
    if (const ConfigNode* node = map_.find("ssh"); node != nullptr)
      machine_.settings.ssh = read_ssh(*node, mistakes_);
    check_driver();
    return machine_;
  }

 private:
  void read_id() {
    const auto id = map_.text("id");
    const auto uuid = id ? schemas::machine_id_from(*id) : std::nullopt;
    if (uuid) machine_.id = *uuid;
    if (uuid) taken_.id(*uuid, map_);
    if (map_.find("id") == nullptr) map_.mistake("id", "is missing: dm- and a UUID in small letters");
    if (id && !uuid)
      map_.mistake("id", "\"" + *id + "\" is not dm- and a UUID in small letters, such as " +
                             "dm-0192f0a1-7c1e-7000-8000-000000000001");
  }

  void read_name() {
    machine_.tenant = map_.text("tenant").value_or(machine_.tenant);
    if (!is_word(machine_.tenant, kTenantMax))
      map_.mistake("tenant", "1 to 64 of A-Z a-z 0-9 . _ - are expected");
    machine_.name = map_.text("name").value_or("");
    const bool there = map_.find("name") != nullptr;
    const bool good = is_word(machine_.name, schemas::kMachineNameMax);
    const bool is_id = schemas::machine_id_from(machine_.name).has_value();
    if (!there) map_.mistake("name", "is missing");
    if (there && !good) map_.mistake("name", "1 to 63 of A-Z a-z 0-9 . _ - are expected");
    if (is_id) map_.mistake("name", "a name must not have the form of a machine's id (dm- and a UUID)");
    if (there && good && !is_id) taken_.name(machine_.tenant, machine_.name, map_);
  }

  void read_driver() {
    const auto text = map_.text("driver");
    if (!text) return;
    const auto driver = schemas::driver_named(*text);
    if (driver) machine_.driver = *driver;
    if (!driver) map_.mistake("driver", "\"" + *text + "\" is not sandbox or ssh");
  }

  void read_size() {
    using namespace schemas;
    machine_.vcpu = map_.number("vcpu", kVcpuMin, kVcpuMax).value_or(machine_.vcpu);
    machine_.memory_mib = static_cast<int>(
        map_.whole("memory_mib", kMemoryMibMin, kMemoryMibMax).value_or(machine_.memory_mib));
    machine_.storage_gib = static_cast<int>(
        map_.whole("storage_gib", kStorageGibMin, kStorageGibMax).value_or(machine_.storage_gib));
    const auto text = map_.text("autosleep");
    if (!text) return;
    const auto seconds = autosleep_seconds(*text);
    machine_.autosleep_seconds = seconds.value_or(0);
    if (!seconds)
      map_.mistake("autosleep", "\"" + *text + "\" is not a time such as 30s, 15m, 7d3h4s, 1800 or never, " +
                                    "of at most " + std::to_string(kAutosleepMax / 86'400) + "d");
  }

  void check_driver() {
    switch (machine_.driver) {
      case MachineDriver::kSandbox:
        if (map_.find("ssh") != nullptr)
          map_.mistake("ssh", "is a setting of driver ssh; this machine uses driver sandbox");
        return;
      case MachineDriver::kSsh:
        if (map_.find("ssh") == nullptr) map_.mistake("ssh", "is missing: driver ssh needs host and user");
        if (map_.find("network") != nullptr) map_.mistake("network", "is a setting of driver sandbox");
        return;
    }
  }

  Taken& taken_;
  Mistakes& mistakes_;
  SectionMap map_;
  Machine machine_;
};

}  // namespace

MachinesSection read_machines(const ConfigNode& section) {
  MachinesSection out;
  if (section.kind == ConfigNode::Kind::kNone) return out;
  if (section.kind != ConfigNode::Kind::kList) {
    out.mistakes.push_back({section.place, "machines: a list is expected here, as in `- id: dm-…`"});
    return out;
  }
  Taken taken;
  for (const ConfigNode& node : section.items) {
    const std::size_t before = out.mistakes.size();
    Machine machine = MachineReader(node, taken, out.mistakes).read();
    if (out.mistakes.size() != before) continue;
    out.machines.push_back(std::move(machine));
    out.places.push_back(node.place);
  }
  return out;
}

}  // namespace millrace::app

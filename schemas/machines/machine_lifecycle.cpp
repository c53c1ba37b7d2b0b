#include "schemas/machines/machine_lifecycle.h"

#include <array>

#include "schemas/json/json.h"
#include "schemas/json/json_text.h"

namespace millrace::schemas {
namespace {

constexpr std::array kActs = {MachineAct::kWake, MachineAct::kSleep, MachineAct::kReboot,
                              MachineAct::kDestroy, MachineAct::kOpenSsh};

base::Error broken_act(const char* what) {
  return base::error(base::Code::kInternal,
                     std::string(what) + " of a machine's act in the store is damaged");
}

std::optional<std::string> text_at(const Json& value, const char* name) {
  const auto at = value.find(name);
  if (at == value.end() || !at->is_string()) return std::nullopt;
  return at->get<std::string>();
}

std::optional<MachineAct> act_named(std::string_view text) {
  for (const MachineAct act : kActs) {
    if (name(act) == text) return act;
  }
  return std::nullopt;
}

std::optional<SshEndpoint> endpoint_from(const Json& value) {
  if (!value.is_object()) return std::nullopt;
  const auto host = text_at(value, "host");
  const auto owner = text_at(value, "owner");
  const auto id = owner ? base::Uuid::parse(*owner) : std::nullopt;
  const auto port = value.find("port");
  if (!host || !id || port == value.end() || !port->is_number_integer()) return std::nullopt;
  return SshEndpoint{*host, port->get<int>(), *id};
}

}  // namespace

std::string_view name(MachineAct act) {
  switch (act) {
    case MachineAct::kWake:
      return "wake";
    case MachineAct::kSleep:
      return "sleep";
    case MachineAct::kReboot:
      return "reboot";
    case MachineAct::kDestroy:
      return "destroy";
    case MachineAct::kOpenSsh:
      return "open_ssh";
  }
  return {};
}

std::optional<MachineAct> next_act(MachineState desired, MachinePhase phase) {
  if (phase == MachinePhase::kDestroyed) return std::nullopt;
  switch (desired) {
    case MachineState::kRunning:
      if (phase == MachinePhase::kRunning || phase == MachinePhase::kFailed) return std::nullopt;
      return MachineAct::kWake;
    case MachineState::kSleeping:
      if (phase == MachinePhase::kSleeping || phase == MachinePhase::kFailed) return std::nullopt;
      return MachineAct::kSleep;
    case MachineState::kDestroyed:
      return MachineAct::kDestroy;
  }
  return std::nullopt;
}

MachinePhase phase_during(MachineAct act, MachinePhase now) {
  switch (act) {
    case MachineAct::kWake:
    case MachineAct::kReboot:
      return MachinePhase::kStarting;
    case MachineAct::kSleep:
      return MachinePhase::kStopping;
    case MachineAct::kDestroy:
      return MachinePhase::kDestroying;
    case MachineAct::kOpenSsh:
      return now;
  }
  return now;
}

MachinePhase phase_after(MachineAct act, MachinePhase now) {
  switch (act) {
    case MachineAct::kWake:
    case MachineAct::kReboot:
      return MachinePhase::kRunning;
    case MachineAct::kSleep:
      return MachinePhase::kSleeping;
    case MachineAct::kDestroy:
      return MachinePhase::kDestroyed;
    case MachineAct::kOpenSsh:
      return now;
  }
  return now;
}

bool is_awake(MachineState desired, MachinePhase phase) {
  return desired == MachineState::kRunning && phase == MachinePhase::kRunning;
}

std::string to_json(const ActSpec& spec) {
  return JsonObject().member("machine", machine_id(spec.machine)).member("act", name(spec.act)).finish();
}

base::Result<ActSpec> act_spec_from_json(std::string_view text) {
  const Json value = Json::parse(text, nullptr, false);
  if (!value.is_object()) return broken_act("the spec");
  const auto machine = text_at(value, "machine");
  const auto act = text_at(value, "act");
  if (!machine || !act) return broken_act("the spec");
  const auto id = machine_id_from(*machine);
  const auto known = act_named(*act);
  if (!id || !known) return broken_act("the spec");
  return ActSpec{*id, *known};
}

std::string to_json(const ActResult& result) {
  JsonObject out;
  if (!result.facts.limits.empty()) out.member("limits", result.facts.limits);
  if (!result.facts.disk.empty()) out.member("disk", result.facts.disk);
  if (result.ssh) {
    out.raw("ssh", JsonObject()
                       .member("host", result.ssh->host)
                       .number("port", result.ssh->port)
                       .member("owner", result.ssh->owner.str())
                       .finish());
  }
  return out.finish();
}

base::Result<ActResult> act_result_from_json(std::string_view text) {
  const Json value = Json::parse(text, nullptr, false);
  if (!value.is_object()) return broken_act("the result");
  ActResult out;
  out.facts.limits = text_at(value, "limits").value_or("");
  out.facts.disk = text_at(value, "disk").value_or("");
  if (const auto ssh = value.find("ssh"); ssh != value.end()) {
    out.ssh = endpoint_from(*ssh);
    if (!out.ssh) return broken_act("the result");
  }
  return out;
}

}  // namespace millrace::schemas

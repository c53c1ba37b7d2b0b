#include "app/cli/machines/machines_command.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iostream>
#include <optional>
#include <span>
#include <string_view>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/cli/backoff.h"
#include "app/cli/cut_off.h"
#include "app/cli/interrupt.h"
#include "app/cli/json_cells.h"
#include "app/cli/machines/machine_choice.h"
#include "app/cli/program.h"
#include "platform/base/bytes.h"

namespace millrace::cli {

using nlohmann::json;
namespace {

constexpr int kMebibyteShift = 20, kGibibyteShift = 30;
constexpr std::size_t kFactColumns = 21;
constexpr std::array<std::string_view, 10> kMachineFields = {
    "machine_id", "name",   "driver",  "desired_state", "phase",
    "vcpu",       "memory", "storage", "autosleep",     "created_at"};

std::string cell(const json& of, const char* key) {
  const auto found = of.find(key);
  return found == of.end() ? "-" : plain(*found);
}

// Formats a size given in mebibytes: "2GiB".
std::string size_text(const json& of, const char* key, int shift) {
  const auto found = of.find(key);
  if (found == of.end() || !found->is_number_integer()) return "-";
  return base::format_bytes(found->get<std::int64_t>() << shift);
}

std::string autosleep_text(const json& machine) {
  const auto found = machine.find("autosleep_seconds");
  if (found == machine.end() || !found->is_number_integer()) return "-";
  const std::chrono::seconds time(found->get<std::int64_t>());
  return time.count() == 0 ? "never" : base::format_duration(time);
}

// Renames a member whose name contains the unit and puts the unit into the value.
void reword(json& machine, const char* from, const char* to, std::string text) {
  if (machine.erase(from) > 0) machine[to] = std::move(text);
}

std::string columns(const std::array<std::string, 8>& cells) {
  constexpr std::array<std::size_t, 8> kWidths = {16, 39, 10, 7, 4, 8, 6, 0};
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) out += (i == 0 ? "" : "  ") + padded(cells[i], kWidths[i]);
  return out;
}

std::string fact(std::string_view name, const std::string& value) {
  return padded(std::string(name), kFactColumns) + " " + value + "\n";
}

}  // namespace

std::string machine_header() {
  return columns({"NAME", "ID", "PHASE", "DRIVER", "VCPU", "MEMORY", "DISK", "AUTOSLEEP"});
}

std::string machine_row(const json& machine) {
  return columns({cell(machine, "name"), cell(machine, "machine_id"), cell(machine, "phase"),
                  cell(machine, "driver"), cell(machine, "vcpu"),
                  size_text(machine, "memory_mib", kMebibyteShift),
                  size_text(machine, "storage_gib", kGibibyteShift), autosleep_text(machine)});
}

std::string machine_text(const json& machine) {
  std::string out;
  json rest = machine;
  reword(rest, "memory_mib", "memory", size_text(machine, "memory_mib", kMebibyteShift));
  reword(rest, "storage_gib", "storage", size_text(machine, "storage_gib", kGibibyteShift));
  reword(rest, "autosleep_seconds", "autosleep", autosleep_text(machine));
  for (const std::string_view name : kMachineFields) {
    const auto found = rest.find(name);
    if (found == rest.end()) continue;
    out += fact(name, plain(*found));
    rest.erase(found);
  }
  const json status = rest.value("status", json::object());
  rest.erase("status");
  for (const auto& [name, value] : rest.items()) out += fact(name, plain(value));
  for (const auto& [name, value] : status.items()) {
    if (!machine.contains(name)) out += fact(name, plain(value));
  }
  return out;
}

using nlohmann::json;
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock;

constexpr milliseconds kLongestPause{1'000};

int failed(const json& machine, const std::string& what) {
  std::cerr << "millrace: " << machine.value("name", "") << " (" << machine.value("machine_id", "") << ") "
            << what << '\n';
  return kFailed;
}

std::string last_error(const json& machine) {
  const std::string reason = machine.value("status", json::object()).value("last_error", "");
  return "has failed" + (reason.empty() ? "" : ": " + reason);
}

}  // namespace

int wait_for_phase(Client& client, Interrupt& interrupt, const std::string& phase, milliseconds limit,
                   json& machine) {
  const auto deadline = Steady::now() + limit;
  const std::string path = "/v1/machines/" + percent_encoded(machine.value("machine_id", ""));
  Backoff pauses;
  for (;;) {
    const std::string now = machine.value("phase", "");
    if (now == phase) return kOk;
    if (now == "failed") return failed(machine, last_error(machine));
    const std::string desired = machine.value("desired_state", phase);
    if (desired != phase) return failed(machine, "is now requested to be " + desired);
    const auto left = std::chrono::ceil<milliseconds>(deadline - Steady::now());
    if (left.count() <= 0)
      return failed(machine, "is still " + now + " after " + base::format_duration(limit));
    if (interrupt.wait(pauses.next(std::min(left, kLongestPause)))) return kInterrupted;
    const auto answer = client.request("GET", path);
    if (answer.error.exit_code == kInterrupted) return kInterrupted;
    const bool gone = phase == kGone && answer.error.exit_code == kNotFound;
    if (gone) machine["phase"] = kGone;
    if (!answer.ok && !answer.error.transient && !gone) return fail(answer.error);
    if (answer.ok) machine = *answer.json;
  }
}

using nlohmann::json;
namespace {

constexpr const char* kAwake = "running";
constexpr const char* kAsleep = "sleeping";

std::string path_of(const std::string& id) { return "/v1/machines/" + percent_encoded(id); }

json body_of(const MachineArguments& arguments) {
  json body = json::object();
  if (arguments.name) body["name"] = *arguments.name;
  if (arguments.vcpu) body["vcpu"] = *arguments.vcpu;
  if (arguments.memory_mib) body["memory_mib"] = *arguments.memory_mib;
  if (arguments.storage_gib) body["storage_gib"] = *arguments.storage_gib;
  if (arguments.autosleep) body["autosleep"] = *arguments.autosleep;
  if (arguments.host) body["host"] = *arguments.host;
  return body;
}

std::optional<CutOff> print(const Client& client, const json& machine) {
  return print_whole((client.options().json ? machine.dump() : machine_row(machine)) + '\n');
}

int print_or_fail(const Client& client, const Client::Response& answer) {
  if (!answer.ok) return fail(answer.error);
  const auto cut_off = print(client, *answer.json);
  return cut_off ? fail_cut_off(*cut_off) : int{kOk};
}

// One request for each machine; the last error decides the exit code.
using Call = std::function<Client::Response(Client&, const std::string& path)>;
int each(const std::vector<std::string>& machines, ClientOptions options, const Call& call) {
  Client client(std::move(options));
  int exit_code = kOk;
  for (const std::string& name_or_id : machines) {
    const FoundMachine machine = find_machine(client, name_or_id);
    const int code = machine.exit_code != kOk ? machine.exit_code
                                              : print_or_fail(client, call(client, path_of(machine.id)));
    if (code != kOk) exit_code = code;
  }
  return exit_code;
}

Call posting(const char* act, std::string body = {}) {
  return [act, body = std::move(body)](Client& client, const std::string& path) {
    return client.request("POST", path + "/" + act, body, fresh_key_header());
  };
}

// What machines do after the command has ended, and how to undo it.
std::string goes_on(std::span<const json> machines, const std::string& phase, const ClientOptions& options) {
  if (machines.empty()) return "nothing goes on";
  std::string names, words;
  for (const json& machine : machines) {
    const std::string name = machine.value("name", machine.value("machine_id", ""));
    names += (names.empty() ? "" : ", ") + name;
    words += " " + shell_word(name);
  }
  names += machines.size() == 1 ? " goes on" : " go on";
  if (phase == kGone) return names + " being destroyed, which cannot be undone";
  const bool wakes = phase == kAwake;
  return names + (wakes ? " starting; stop" : " going to sleep; wake") +
         (machines.size() == 1 ? " it" : " them") + " with `" + program() + " machines " +
         (wakes ? "sleep" : "wake") + gateway_options(options) + words + "`";
}

// Ends a wait that a signal has interrupted.
int leave(const Interrupt& interrupt, std::span<const json> machines, const std::string& phase,
          const ClientOptions& options) {
  const auto cut_off = cut_off_by(interrupt);
  return cut_off ? fail_cut_off(*cut_off, goes_on(machines, phase, options)) : int{kInterrupted};
}

// The means of a command to wait. Create it before other threads start.
struct Wait {
  std::optional<Interrupt> interrupt;  // nullopt: the command does not wait
  std::chrono::milliseconds limit{0};
};

// False: the time-out is not a valid duration.
bool prepare(const MachineWait& wait_options, Wait& wait) {
  const auto limit = base::parse_duration(wait_options.timeout);
  if (wait_options.wait) wait.interrupt.emplace(kCutOff);
  wait.limit = limit.value_or(wait.limit);
  if (!limit) std::cerr << "millrace: --wait-timeout needs a duration such as 5m, 90s or 500ms\n";
  return limit.has_value();
}

// Sends all requests first, so that the machines change at the same time.
int act_on_all(const std::vector<std::string>& machines, const Call& act, const char* phase,
               const MachineWait& wait_options, ClientOptions options) {
  Wait wait;
  if (!prepare(wait_options, wait)) return kUsage;
  if (!wait.interrupt) return each(machines, std::move(options), act);
  Client client(std::move(options), &*wait.interrupt);
  int exit_code = kOk;
  std::vector<json> changed;
  for (const std::string& name_or_id : machines) {
    const FoundMachine machine = find_machine(client, name_or_id);
    if (machine.exit_code == kInterrupted) return leave(*wait.interrupt, changed, phase, client.options());
    if (machine.exit_code != kOk) {
      exit_code = machine.exit_code;
      continue;
    }
    const auto answer = act(client, path_of(machine.id));
    if (answer.ok) changed.push_back(*answer.json);
    if (answer.error.exit_code == kInterrupted) {
      changed.push_back({{"name", name_or_id}});  // it may go on
      return leave(*wait.interrupt, changed, phase, client.options());
    }
    if (!answer.ok) exit_code = fail(answer.error);
  }
  for (std::size_t i = 0; i < changed.size(); ++i) {
    const int code = wait_for_phase(client, *wait.interrupt, phase, wait.limit, changed[i]);
    const auto rest = std::span(changed).subspan(i);
    if (code == kInterrupted) return leave(*wait.interrupt, rest, phase, client.options());
    if (const auto cut_off = print(client, changed[i]))
      return fail_cut_off(*cut_off, goes_on(rest.subspan(1), phase, client.options()));
    if (code != kOk) exit_code = code;
  }
  return exit_code;
}

// Asks once for confirmation; any response other than yes means no.
bool agreed(const std::vector<std::string>& machines) {
  std::cerr << "Destroy";
  for (const std::string& machine : machines) std::cerr << " " << machine;
  std::cerr << " and all that is on " << (machines.size() == 1 ? "its disk" : "their disks") << "? [y/N] ";
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace

int machines_ls(ClientOptions options) {
  Client client(std::move(options));
  json machines;
  if (const auto error = list_machines(client, machines)) return fail(*error);
  std::stable_sort(machines.begin(), machines.end(),
                   [](const json& a, const json& b) { return a.value("name", "") < b.value("name", ""); });
  if (!client.options().json) std::cout << machine_header() << '\n';
  for (const json& machine : machines) {
    if (const auto cut_off = print(client, machine)) return fail_cut_off(*cut_off);
  }
  return kOk;
}

int machines_show(const std::string& name_or_id, ClientOptions options) {
  Client client(std::move(options));
  const FoundMachine machine = find_machine(client, name_or_id);
  if (machine.exit_code != kOk) return machine.exit_code;
  const auto answer = client.request("GET", path_of(machine.id));
  if (!answer.ok) return fail(answer.error);
  std::cout << (client.options().json ? answer.json->dump() + "\n" : machine_text(*answer.json));
  return kOk;
}

int machines_create(const MachineArguments& arguments, const MachineWait& wait_options,
                    ClientOptions options) {
  Wait wait;
  if (!prepare(wait_options, wait)) return kUsage;
  Client client(std::move(options), wait.interrupt ? &*wait.interrupt : nullptr);
  const auto answer =
      client.request("POST", "/v1/machines", local_json(body_of(arguments)), fresh_key_header());
  if (answer.error.exit_code == kInterrupted) {
    const auto cut_off = cut_off_by(*wait.interrupt);
    constexpr const char* kPerhaps = "the machine may have been created";
    return cut_off ? fail_cut_off(*cut_off, kPerhaps) : fail(kPerhaps, kInterrupted);
  }
  if (!answer.ok) return fail(answer.error);
  json machine = *answer.json;
  const std::string id = machine.value("machine_id", ""), left = "the machine " + id + " was created";
  int exit_code = client.options().json ? int{kOk} : print_made(id + '\n', left);
  if (exit_code != kOk) return exit_code;
  if (wait.interrupt) exit_code = wait_for_phase(client, *wait.interrupt, kAwake, wait.limit, machine);
  if (exit_code == kInterrupted) exit_code = leave(*wait.interrupt, {&machine, 1}, kAwake, client.options());
  const int printed = client.options().json ? print_made(machine.dump() + '\n', left) : int{kOk};
  return exit_code == kOk ? printed : exit_code;
}

int machines_change(const std::string& name_or_id, const MachineArguments& arguments, ClientOptions options) {
  const json body = body_of(arguments);
  if (body.empty()) {
    std::cerr << "millrace: no change was given; use a flag, such as --autosleep 15m\n";
    return kUsage;
  }
  return each({name_or_id}, std::move(options), [&](Client& client, const std::string& path) {
    return client.request("PATCH", path, local_json(body), fresh_key_header());
  });
}

int machines_sleep(const std::vector<std::string>& machines, const MachineWait& wait_options,
                   ClientOptions options) {
  return act_on_all(machines, posting("sleep"), kAsleep, wait_options, std::move(options));
}

int machines_wake(const std::vector<std::string>& machines, const MachineWait& wait_options,
                  ClientOptions options) {
  return act_on_all(machines, posting("wake"), kAwake, wait_options, std::move(options));
}

int machines_reboot(const std::vector<std::string>& machines, bool force, const MachineWait& wait_options,
                    ClientOptions options) {
  return act_on_all(machines, posting("reboot", force ? R"({"force":true})" : ""), kAwake, wait_options,
                    std::move(options));
}

int machines_rm(const std::vector<std::string>& machines, bool yes, const MachineWait& wait_options,
                ClientOptions options) {
  if (!yes && (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0)) {
    std::cerr << "millrace: `machines rm` destroys the disk as well; without a terminal, --yes is required\n";
    return kUsage;
  }
  if (!yes && !agreed(machines)) {
    std::cerr << "Nothing was destroyed.\n";
    return kFailed;
  }
  const Call destroy = [](Client& client, const std::string& path) {
    return client.request("DELETE", path, {}, fresh_key_header());
  };
  return act_on_all(machines, destroy, kGone, wait_options, std::move(options));
}

}  // namespace millrace::cli

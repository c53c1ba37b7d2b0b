#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "platform/base/result.h"

// Machines (docs/design/http-contract.md §2, "Machines").
namespace millrace::schemas {

enum class MachineDriver : std::uint8_t { kSandbox = 0, kSsh = 1 };
std::string_view name(MachineDriver driver);  // "sandbox", "ssh"
std::optional<MachineDriver> driver_named(std::string_view name);

enum class MachineState : std::uint8_t { kRunning = 0, kSleeping = 1, kDestroyed = 2 };  // desired
std::string_view name(MachineState state);

// The current phase of a machine; schemas/machines/machine_lifecycle.h has the transitions to the desired
// state.
enum class MachinePhase : std::uint8_t {
  kAccepted = 0,  // created; its first act has not begun
  kStarting = 1,
  kRunning = 2,
  kStopping = 3,
  kSleeping = 4,
  kDestroying = 5,
  kDestroyed = 6,
  kFailed = 7,  // its last act failed: `last_error`. The next execution wakes it
};
std::string_view name(MachinePhase phase);

// Who created the machine. The API can neither resize nor destroy a machine of the configuration file.
enum class MachineSource : std::uint8_t { kApi = 0, kFile = 1, kLocal = 2 };

// How a sleeping machine is woken: the operator's command on the gateway's host, or a POST; then the probe is
// repeated until it succeeds.
struct WakeRule {
  std::vector<std::string> command;  // argv, or
  std::string http;                  // an http(s) URL; both empty: only the probe is used
  std::string probe;  // "tcp://HOST:PORT", or an http(s) URL that returns a status below 400. Empty: with
                      // driver ssh, its host and port; with driver sandbox, no probe
  std::chrono::milliseconds timeout{120'000};
};

// The SSH address of a machine of driver ssh.
struct SshTarget {
  std::string host;
  int port = 22;
  std::string user;
  std::string host_key;  // a known_hosts line without the host names ("ssh-ed25519 AAAA…"); empty: the host
                         // presents a certificate of our host CA
};

// Settings that only the operator's configuration file can set. Stored as JSON in the machine's row.
struct MachineSettings {
  bool network = false;  // driver sandbox: commands share the host's network
  std::optional<WakeRule> wake;
  std::optional<SshTarget> ssh;  // set for driver ssh
};
std::string to_json(const MachineSettings& settings);
base::Result<MachineSettings> machine_settings_from_json(std::string_view json);

// How the host enforces the limits, as reported by its worker.
struct MachineFacts {
  std::string limits;  // "cgroup-v2", "cgroup-v1": for all processes together; "rlimits": per process
  // "image": an image of that size; "watched": a command that exceeds it is stopped; "read_only": an image
  // whose file system has become read-only
  std::string disk;
};
inline constexpr const char* kReadOnlyDisk = "read_only";
// For the machine's owner.
inline constexpr const char* kReadOnlyDiskMessage =
    "the machine's disk became read-only, because the host's disk failed or was full; it is repaired once "
    "the "
    "other commands and logins of the machine have ended";

// The address of a machine's sshd (driver sandbox: on the worker's host, while that worker runs).
struct SshEndpoint {
  std::string host;
  int port = 0;
  base::Uuid owner{};  // incarnation of the worker that listens
};

// A machine as its owner sees it.
struct Machine {
  base::Uuid id;
  std::string tenant;
  std::string name;
  MachineDriver driver = MachineDriver::kSandbox;
  MachineSource source = MachineSource::kApi;
  double vcpu = 1;
  int memory_mib = 1024;
  int storage_gib = 4;
  std::int64_t autosleep_seconds = 0;  // 0: never
  MachineState desired = MachineState::kRunning;
  MachinePhase phase = MachinePhase::kAccepted;
  // Where it runs, if the gateway has several hosts; empty: any host. Absent: the only host, or not known
  // yet.
  std::optional<std::string> host{};
  std::int64_t number = 0;  // of the machine on its host: its uid is 210000 + number
  std::int64_t revision = 1;
  MachineSettings settings;
  MachineFacts facts;
  std::optional<SshEndpoint> ssh;
  std::string last_error;  // of the last act; empty: none
  base::WallTime created_at{};
  base::WallTime changed_at{};     // the last change of the phase
  base::WallTime progressed_at{};  // the last change of anything
};

// Limits; every error about a limit names it.
inline constexpr std::size_t kMachineNameMax = 63;
inline constexpr std::size_t kHostNameMax = 253;
inline constexpr double kVcpuMin = 0.1, kVcpuMax = 256;
inline constexpr int kMemoryMibMin = 64, kMemoryMibMax = 1 << 20;
inline constexpr int kStorageGibMin = 1, kStorageGibMax = 16'384;
inline constexpr std::int64_t kAutosleepMax = 366L * 86'400;

// "dm-" and a lower-case UUID (docs/design/http-contract.md); nullopt: not of that form.
std::optional<base::Uuid> machine_id_from(std::string_view text);
std::string machine_id(const base::Uuid& id);

// "30s", "15m", "7d3h4s", "1800", "never" (0) → seconds, at most kAutosleepMax. nullopt: not a valid
// duration.
std::optional<std::int64_t> autosleep_seconds(std::string_view text);

// The machine resource as JSON text; `with_status`: includes its `status` object. `host_disk_low`: the disk
// of its host has hardly any space left now.
std::string machine_json(const Machine& machine, bool with_status, bool host_disk_low = false);

}  // namespace millrace::schemas

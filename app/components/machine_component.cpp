#include "app/components/machine_component.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "app/components/disk_notes.h"
#include "machines/remote/ssh_driver.h"
#include "machines/sandbox/sandbox.h"
#include "machines/sshd/local_sshd.h"
#include "platform/base/ids.h"
#include "platform/base/log.h"
#include "platform/net/http/http_client.h"
#include "platform/process/spawner.h"
#include "storage/machines/machines.h"
#include "storage/machines/ssh_sessions.h"
#include "workers/exec/exec_run.h"
#include "workers/machines/machine_run.h"

namespace millrace::app {
namespace {

using machines::LocalSshd;

constexpr std::chrono::seconds kNoteDiskAgain{30};

// The drivers of this host. The spawner is destroyed last, because the child processes depend on its thread.
struct DriverRow {
  process::Spawner spawner{process::Spawner::Options{.own_mounts = true}};
  std::unique_ptr<machines::Sandbox> sandbox;
  std::unique_ptr<machines::SshDriver> ssh;
  std::unique_ptr<LocalSshd> sshd;
  MachineFindings findings;

  machines::Driver* driver(schemas::MachineDriver kind) const {
    switch (kind) {
      case schemas::MachineDriver::kSandbox:
        return sandbox.get();
      case schemas::MachineDriver::kSsh:
        return ssh.get();
    }
    return nullptr;
  }
};

template <class T>
std::string take(std::unique_ptr<T>& part, base::Result<std::unique_ptr<T>> opened) {
  if (!opened) return opened.error().message;
  part = *std::move(opened);
  return {};
}

// `ssh_dir`: folder for the keys of running commands; leftovers of an earlier process are removed.
void open_drivers(DriverRow& row, const Settings& settings, const std::string& ssh_dir,
                  const std::shared_ptr<const machines::SshAuthority>& authority, LocalSshd::Hooks hooks,
                  std::function<void(const base::Uuid& machine, bool is_writable)> on_disk = {}) {
  MachineFindings& found = row.findings;
  found.sandbox_off = take(
      row.sandbox,
      machines::Sandbox::open({.data_dir = settings.data_dir, .on_disk = std::move(on_disk)}, row.spawner));
  found.ssh_off = take(row.ssh, machines::SshDriver::open({.data_dir = ssh_dir}, row.spawner, authority));
  if (!row.sandbox) {
    found.sshd_off = "it needs the sandbox, which does not work on this host";
    return;
  }
  found.facts = row.sandbox->host_facts();
  found.sshd_off = take(row.sshd, LocalSshd::open({.data_dir = settings.data_dir,
                                                   .listen_host = settings.ssh_listen,
                                                   .public_host = settings.ssh_public_host},
                                                  *row.sandbox, authority, std::move(hooks)));
}

void log_findings(const MachineFindings& found) {
  if (!found.sandbox_off.empty()) base::log_warn("executions_disabled", {{"reason", found.sandbox_off}});
  if (!found.ssh_off.empty()) base::log_info("ssh_driver_disabled", {{"reason", found.ssh_off}});
  if (!found.sshd_off.empty()) base::log_info("ssh_sessions_disabled", {{"reason", found.sshd_off}});
}

// A temporary folder for one test, removed by the destructor.
class ProbeDataDir {
 public:
  ProbeDataDir() {
    std::error_code failed;
    path_ = (std::filesystem::temp_directory_path(failed) / "millrace-XXXXXX").string();
    // Same mode as a data directory: machines' users must be able to pass through.
    if (::mkdtemp(path_.data()) == nullptr || ::chmod(path_.c_str(), 0711) != 0) path_.clear();
  }
  ~ProbeDataDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ProbeDataDir(const ProbeDataDir&) = delete;
  ProbeDataDir& operator=(const ProbeDataDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The first parent folder of `data_dir` that other users may not pass through. Empty: there is none, or
// machines run as this user.
std::string closed_folder(const std::string& data_dir) {
  if (::geteuid() != 0) return {};
  std::filesystem::path way;
  for (const auto& part : std::filesystem::weakly_canonical(std::filesystem::absolute(data_dir))) {
    way /= part;
    struct stat about {};
    if (::stat(way.c_str(), &about) == 0 && (about.st_mode & S_IXOTH) == 0) return way.string();
  }
  return {};
}

base::Result<std::vector<std::uint64_t>> revoked_serials(storage::Store& store) {
  const auto revoked = storage::SshSessions(store).revoked();
  if (!revoked) return revoked.error();
  return std::vector<std::uint64_t>(revoked->serials.begin(), revoked->serials.end());
}

}  // namespace

struct MachineComponent::Impl {
  Impl(const Settings& s, Dependencies g)
      : settings(s), dependencies(std::move(g)), http(dependencies.loop) {}
  Settings settings;
  Dependencies dependencies;
  DiskNotes disk_notes{dependencies.loop, kNoteDiskAgain,
                       [&store = dependencies.store](const base::Uuid& machine, bool is_writable,
                                                     std::function<void(bool)> done) {
                         storage::Machines(store).note_disk(
                             machine, is_writable, [done = std::move(done)](const base::Result<bool>& noted) {
                               done(noted.has_value());
                             });
                       }};
  DriverRow row;
  net::HttpClient http;

  base::Result<schemas::SshEndpoint> open_ssh(const schemas::Machine& machine);
};

base::Result<schemas::SshEndpoint> MachineComponent::Impl::open_ssh(const schemas::Machine& machine) {
  if (!row.sshd) {
    return base::error(base::Code::kMachineNotRoutable,
                       "this host offers no SSH sessions: " + row.findings.sshd_off);
  }
  const auto endpoint = row.sshd->listen(machine, machine.ssh ? machine.ssh->port : 0);
  if (!endpoint) return endpoint.error();
  return schemas::SshEndpoint{endpoint->host, endpoint->port, dependencies.worker};
}

std::unique_ptr<MachineComponent> MachineComponent::open(const Settings& settings,
                                                         Dependencies dependencies) {
  auto parts = std::make_unique<Impl>(settings, std::move(dependencies));
  storage::Store& store = parts->dependencies.store;
  const auto touch = [&store](const base::Uuid& machine) {
    storage::Machines(store).touch(machine, [](const base::Result<bool>&) {});
  };
  const auto listener = [&store, worker = parts->dependencies.worker](const base::Uuid& machine) {
    return storage::ssh_listener_state(store, machine, worker);
  };
  const auto key_of = [&store](std::int64_t serial) { return storage::SshSessions(store).key_of(serial); };
  const auto ended = [&store](const std::vector<std::string>& keys) {
    return storage::SshSessions(store).ended_keys(keys);
  };
  open_drivers(parts->row, settings, settings.data_dir, parts->dependencies.authority,
               {.revoked = [&store] { return revoked_serials(store); },
                .listener = listener,
                .on_use = touch,
                .key_of = key_of,
                .ended = ended},
               [&notes = parts->disk_notes](const base::Uuid& machine, bool is_writable) {
                 notes.note(machine, is_writable);
               });
  log_findings(parts->row.findings);
  return std::unique_ptr<MachineComponent>(new MachineComponent(std::move(parts)));
}

MachineComponent::MachineComponent(std::unique_ptr<Impl> parts) : impl_(std::move(parts)) {}
MachineComponent::~MachineComponent() = default;

const MachineFindings& MachineComponent::findings() const { return impl_->row.findings; }

std::unique_ptr<workers::Runner> MachineComponent::make_exec_runner(std::string secret_key) {
  workers::ExecRunner::Options options;
  options.secret_key = std::move(secret_key);
  options.output_max = static_cast<std::size_t>(impl_->settings.exec_output_max_bytes);
  options.output_grace = impl_->settings.exec_output_grace;
  workers::Drivers drivers = [&row = impl_->row](schemas::MachineDriver kind) { return row.driver(kind); };
  return std::make_unique<workers::ExecRunner>(std::move(drivers), std::move(options));
}

std::unique_ptr<workers::Runner> MachineComponent::make_machine_runner() {
  Impl& parts = *impl_;
  return std::make_unique<workers::MachineRunner>(workers::MachineRunner::Dependencies{
      .driver = [&parts](schemas::MachineDriver kind) { return parts.row.driver(kind); },
      .spawner = parts.row.spawner,
      .http = parts.http,
      .open_ssh = [&parts](const schemas::Machine& machine) { return parts.open_ssh(machine); },
      .close_ssh =
          [&parts](const base::Uuid& machine) {
            if (parts.row.sshd) parts.row.sshd->close(machine);
          }});
}

MachineFindings probe_machines(const Settings& settings) {
  const auto none = [](const std::string& why) {
    return MachineFindings{.sandbox_off = why, .ssh_off = why, .sshd_off = why, .facts = {}};
  };
  const ProbeDataDir folder;
  if (folder.path().empty()) return none("cannot create a temporary folder: make /tmp, or TMPDIR, writable");
  const auto authority = machines::SshAuthority::open(folder.path());
  if (!authority) return none(authority.error().message);
  Settings trial = settings;
  trial.data_dir = folder.path();
  DriverRow row;
  open_drivers(row, trial, trial.data_dir, *authority, {});
  const std::string closed = row.findings.sandbox_off.empty() ? closed_folder(settings.data_dir) : "";
  if (closed.empty()) return row.findings;
  row.findings.sandbox_off = "commands cannot run in a sandbox on this host: " + closed +
                             " cannot be reached by the users of machines; allow other users to traverse "
                             "each folder above --data (chmod o+x)";
  row.findings.sshd_off = "it needs the sandbox, which does not work on this host";
  return row.findings;
}

base::Status ensure_local_machine(storage::Store& store) {
  std::promise<base::Result<schemas::Machine>> made;
  const base::WallTime now = store.clock().wall();
  storage::Machines(store).ensure_local(
      "default", base::Uuid::make(now), {schemas::Kind::kMachine, base::Uuid::make(now)},
      [&](base::Result<schemas::Machine> machine) { made.set_value(std::move(machine)); });
  const auto machine = made.get_future().get();
  const bool destroyed = !machine && machine.error().code == base::Code::kNotFound;
  if (!machine && !destroyed) return machine.error();
  return {};
}

base::Status apply_machines(storage::Store& store, std::vector<schemas::Machine> machines) {
  std::vector<schemas::JobId> acts;
  acts.reserve(machines.size());
  for (std::size_t i = 0; i < machines.size(); ++i)
    acts.push_back({schemas::Kind::kMachine, base::Uuid::make(store.clock().wall())});
  std::promise<base::Result<int>> taken;
  storage::Machines(store).apply_config_file(
      std::move(machines), std::move(acts),
      [&](base::Result<int> changed) { taken.set_value(std::move(changed)); });
  const auto changed = taken.get_future().get();
  if (!changed) return changed.error();
  return {};
}

}  // namespace millrace::app

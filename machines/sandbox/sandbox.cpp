#include "machines/sandbox/sandbox.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "machines/driver.h"
#include "machines/running_commands.h"
#include "machines/sandbox/artifact_folder.h"
#include "machines/sandbox/command_pump.h"
#include "machines/sandbox/disk_watch.h"
#include "machines/sandbox/folder_entries.h"
#include "machines/sandbox/machine_disk.h"
#include "machines/sandbox/machine_folder.h"
#include "machines/sandbox/machine_limits.h"
#include "machines/sandbox/reached_limits.h"
#include "machines/sandbox/sandbox_command.h"
#include "platform/base/log.h"
#include "platform/process/jail_options.h"
#include "platform/process/job_filter.h"
#include "platform/process/memory_file.h"
#include "schemas/json/json_text.h"
#include "schemas/machines/machine.h"

namespace millrace::machines {
namespace {

constexpr std::chrono::milliseconds kJailTrialLimit{5'000};
constexpr int kJailTrialsMax = 3;
constexpr std::chrono::milliseconds kStopLimit{40'000};  // longer than the kernel is given to end a jail
constexpr std::chrono::milliseconds kStopPollInterval{200};
constexpr std::int64_t kFileTimeGrain = 20'000'000;  // file times in ns may be this much behind the clock
constexpr std::size_t kResidentFileMax = std::size_t{1} << 20;
constexpr const char* kMachineStopped = "the machine was stopped while the command ran";
constexpr const char* kImage = "image";
constexpr const char* kWatched = "watched";

std::int64_t wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string init_beside_us() {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return (self.parent_path() / "millrace-jail-init").string();
}

base::Error unusable(const std::string& reason, const std::string& advice) {
  return base::error(base::Code::kHostAgentFailed,
                     "no command can be run in a sandbox here: " + reason + "; " + advice);
}

bool ended_well(const CommandResult& end) {
  return end.how == CommandResult::How::kExited && end.exit_code == 0;
}

base::Error trial_failed(const CommandResult& end, const std::string& data_dir) {
  const std::string reason = end.message.empty() ? "a trial command failed" : end.message;
  const bool hidden =
      reason.find("Permission denied") != std::string::npos && reason.find(data_dir) != std::string::npos;
  return unusable(reason, hidden ? "let other users pass (chmod o+x) through each folder above --data"
                                 : process::namespaces_advice(reason));
}

std::uint64_t storage_bytes(const schemas::Machine& machine) {
  return static_cast<std::uint64_t>(machine.storage_gib) << 30;
}

// Moves the error message to the details, for the log of the process that performs the operation. The message
// for the machine's owner is neutral.
base::Error with_reason(base::Error error) {
  if (error.code == base::Code::kMachineNotRoutable) return error;
  error.details = schemas::JsonObject().member("reason", error.message).finish();
  error.message = "the host could not prepare the machine: see the log of the host";
  return error;
}

// Copies the file from its beginning, independent of the read position of other users of the descriptor.
base::Result<base::Fd> copy_of(int file) {
  std::string bytes(kResidentFileMax, '\0');
  const ssize_t count = ::pread(file, bytes.data(), bytes.size(), 0);
  if (count < 0) return base::error(base::Code::kHostAgentFailed, "a file of a resident cannot be read");
  bytes.resize(static_cast<std::size_t>(count));
  return process::memory_file(bytes);
}

base::Result<ResidentFiles> resident_files(const Sandbox::ResidentRequest& request, const std::string& filter,
                                           bool network) {
  ResidentFiles files;
  auto rules = process::memory_file(filter);
  if (!rules) return std::move(rules.error());
  files.filter = std::move(*rules);
  auto etc = etc_files(network);
  if (!etc) return std::move(etc.error());
  files.etc = std::move(*etc);
  for (const Sandbox::ResidentRequest::Bind& bind : request.read_only) {
    auto file = copy_of(bind.fd);
    if (!file) return std::move(file.error());
    files.read_only.push_back(std::move(*file));
  }
  for (const std::string& program : request.hidden_programs) {
    base::Fd file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return base::error(base::Code::kHostAgentFailed, program + ": " + std::strerror(errno));
    files.hidden.push_back(std::move(file));
  }
  return files;
}

}  // namespace

// The folder and control groups of a machine are named after its id; those of a trial after the trial folder.
struct Sandbox::Impl {
  JailParts jail;
  process::Spawner& spawner;
  RunningCommands running_commands;
  MachineLimits limits;
  MachineDisks disks;
  DiskWatch watch;

  Impl(JailParts made, process::Spawner& starter)
      : jail(std::move(made)),
        spawner(starter),
        limits(jail.limits.data_dir, jail.limits.machine_processes, jail.limits.use_cgroups),
        disks(jail.limits.data_dir, spawner, running_commands, jail.limits.use_images, jail.limits.on_disk),
        watch(disks.root(), running_commands) {}

  base::Result<JailSettings> settings_of(const schemas::Machine& machine, const std::string& name,
                                         MachinePaths paths);
  CommandResult run_at(const CommandRequest& request, JailSettings jail_settings, const std::string& name,
                       const RunningCommand& command, const CancelToken& stop, const CommandHooks& hooks);
  CommandResult run(const CommandRequest& request, const CancelToken& stop, const CommandHooks& hooks);
  LimitState limit_state(const std::string& name, const MachinePaths& paths) const;
  // True if a command has written a file of the largest allowed size since then.
  bool has_full_file(const MachinePaths& paths, std::int64_t since_ns) const;
  CommandResult run_trial();
  base::Status end_all(const schemas::Machine& machine, const CancelToken& cancel);
};

base::Result<JailSettings> Sandbox::Impl::settings_of(const schemas::Machine& machine,
                                                      const std::string& name, MachinePaths paths) {
  auto uid = machine_uid(machine.number);
  if (!uid) return std::move(uid.error());
  JailSettings jail_settings;
  jail_settings.uid = *uid;
  jail_settings.paths = std::move(paths);
  jail_settings.cgroup_fds = limits.cgroup_fds(machine, name).files;
  jail_settings.network = machine.settings.network;
  return jail_settings;
}

LimitState Sandbox::Impl::limit_state(const std::string& name, const MachinePaths& paths) const {
  return {limits.counts(name), paths.image && is_full(disks.root(), paths.folder)};
}

bool Sandbox::Impl::has_full_file(const MachinePaths& paths, std::int64_t since_ns) const {
  const base::Fd folder = open_folder(disks.root(), paths.folder);
  return folder && has_large_file(folder.get(), jail.limits.file_bytes, since_ns);
}

CommandResult Sandbox::Impl::run_at(const CommandRequest& request, JailSettings jail_settings,
                                    const std::string& name, const RunningCommand& command,
                                    const CancelToken& stop, const CommandHooks& hooks) {
  auto artifacts =
      ArtifactFolder::make(disks.root(), jail_settings.paths.artifacts,
                           request.execution.empty() ? name : request.execution, jail_settings.uid);
  if (!artifacts) return result_of_error(artifacts.error());
  jail_settings.artifacts = artifacts->path();
  const JailInitLimits jail_init_limits =
      jail_limits(request.machine, jail.limits, jail_settings, request.timeout);
  const LimitState before = limit_state(name, jail_settings.paths);
  const std::int64_t started_ns = wall_ns() - kFileTimeGrain;
  auto handles = start_jail(request, jail, jail_settings, spawner);
  if (!handles) return result_of_error(handles.error());
  CommandPump pump(std::move(*handles), stop, command.end_fd(), hooks);
  CommandResult end = pump.run(request.timeout, request.output_grace);
  const std::string end_reason = command.end_reason();
  if (end_reason.empty()) {
    const ChildEvidence children{pump.usage(),
                                 may_have_full_file(end) && has_full_file(jail_settings.paths, started_ns)};
    end = with_reached_limit(std::move(end), request.machine, jail_init_limits, pump.has_started(),
                             {.before = before, .after = limit_state(name, jail_settings.paths)}, children);
  }
  if (end_reason == kDiskFull) end = killed_for_disk(std::move(end), request.machine);
  if (!has_run(end) || end_reason == kMachineStopped) return end;
  CollectedArtifacts collected = artifacts->collect();
  end.artifacts = std::move(collected.files);
  end.artifacts_note = std::move(collected.note);
  return end;
}

CommandResult Sandbox::Impl::run(const CommandRequest& request, const CancelToken& stop,
                                 const CommandHooks& hooks) {
  if (request.command.empty()) return host_failure("an empty command");
  const auto command = running_commands.begin(request.machine.id, hooks.on_ending);
  const std::string name = schemas::machine_id(request.machine.id);
  const auto uid = machine_uid(request.machine.number);
  if (!uid) return with_client_message(result_of_error(uid.error()));
  auto paths = disks.open(request.machine, *uid, {stop.fd(), command->end_fd()});
  if (!paths && stop.is_requested()) return cancelled_result();
  if (!paths) return with_client_message(result_of_error(paths.error()), command->end_reason());
  if (!paths->image) watch.watch(request.machine.id, paths->folder, storage_bytes(request.machine));
  auto made = settings_of(request.machine, name, std::move(*paths));
  if (!made) return with_client_message(result_of_error(made.error()));
  CommandResult end = run_at(request, std::move(*made), name, *command, stop, hooks);
  if (end.how != CommandResult::How::kExited || end.exit_code != 0) disks.check(request.machine.id);
  return with_client_message(std::move(end), command->end_reason());
}

// Runs a trial command in a jail that is set up like all later ones, with a trial folder.
CommandResult Sandbox::Impl::run_trial() {
  CommandRequest request;
  request.command = {"true"};
  request.timeout = kJailTrialLimit;
  const auto command = running_commands.begin(request.machine.id);
  const auto uid = machine_uid(request.machine.number);
  const auto trial = ProbeFolder::make(disks.root(), jail.limits.data_dir, *uid);
  if (!trial) return result_of_error(trial.error());
  auto paths = disks.open_folder_alone(*trial, *uid);
  if (!paths) return result_of_error(paths.error());
  auto made = settings_of(request.machine, trial->name(), std::move(*paths));
  if (!made) return result_of_error(made.error());
  CommandResult end = run_at(request, std::move(*made), trial->name(), *command, CancelToken(), {});
  limits.remove(trial->name());
  return end;
}

base::Status Sandbox::Impl::end_all(const schemas::Machine& machine, const CancelToken& cancel) {
  running_commands.end(machine.id, kMachineStopped);
  const auto deadline = std::chrono::steady_clock::now() + kStopLimit;
  while (std::chrono::steady_clock::now() < deadline && !cancel.is_requested()) {
    if (running_commands.ended(machine.id, kStopPollInterval)) return {};
  }
  return base::error(base::Code::kHostAgentFailed, "the processes on the machine did not end in time");
}

Sandbox::Sandbox(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sandbox::~Sandbox() = default;

base::Result<std::unique_ptr<Sandbox>> Sandbox::open(Options options, process::Spawner& spawner) {
  if (options.init_program.empty()) options.init_program = init_beside_us();
  options.init_program = std::filesystem::absolute(options.init_program).string();
  options.data_dir = std::filesystem::absolute(options.data_dir).string();
  base::Fd program(::open(options.init_program.c_str(), O_PATH | O_CLOEXEC));
  if (!program || ::access(options.init_program.c_str(), X_OK) != 0) {
    return unusable(options.init_program + " does not exist", "install it next to millrace");
  }
  auto bytes = process::job_seccomp_filter();
  if (!bytes) return std::move(bytes.error());
  const std::string data_dir = options.data_dir;
  auto impl =
      std::make_unique<Impl>(JailParts{std::move(options), std::move(program), std::move(*bytes)}, spawner);
  // On a busy host a trial may run out of time.
  const auto trial = [&impl] {
    CommandResult result = impl->run_trial();
    for (int trials = 1; result.how == CommandResult::How::kTimedOut && trials < kJailTrialsMax; ++trials)
      result = impl->run_trial();
    return result;
  };
  CommandResult end = trial();
  if (!ended_well(end) && impl->limits.kind() != MachineLimits::Kind::kRlimits) {
    impl->limits.give_up();
    const std::string reason = end.message;
    end = trial();
    if (ended_well(end)) base::log_warn("machine_groups_unusable", {{"reason", reason}});
  }
  if (!ended_well(end)) return trial_failed(end, data_dir);
  return std::unique_ptr<Sandbox>(new Sandbox(std::move(impl)));
}

CommandResult Sandbox::run(const CommandRequest& request, const CancelToken& stop,
                           const CommandHooks& hooks) {
  return impl_->run(request, stop, hooks);
}

base::Result<schemas::MachineFacts> Sandbox::start(const schemas::Machine& machine,
                                                   const CancelToken& cancel) {
  const auto uid = machine_uid(machine.number);
  if (!uid) return uid.error();
  const auto command = impl_->running_commands.begin(machine.id);
  auto paths = impl_->disks.open(machine, *uid, {cancel.fd(), command->end_fd()});
  if (!paths) return with_reason(paths.error());
  const auto cgroup_fds = impl_->limits.cgroup_fds(machine, schemas::machine_id(machine.id));
  return schemas::MachineFacts{std::string(MachineLimits::name(cgroup_fds.kind)),
                               paths->image ? kImage : kWatched};
}

base::Status Sandbox::stop(const schemas::Machine& machine, const CancelToken& cancel) {
  if (auto ended = impl_->end_all(machine, cancel); !ended) return ended;
  impl_->disks.close(machine.id);
  impl_->limits.remove(schemas::machine_id(machine.id));
  return {};
}

base::Status Sandbox::destroy(const schemas::Machine& machine, const CancelToken& cancel) {
  if (auto ended = impl_->end_all(machine, cancel); !ended) return ended;
  impl_->limits.remove(schemas::machine_id(machine.id));
  auto removed = impl_->disks.remove(machine.id);
  // the caller retries it later
  if (!removed && removed.error().code == base::Code::kOverloaded) return removed;
  if (!removed) return with_reason(removed.error());
  return {};
}

base::Result<process::Spawned> Sandbox::start_resident(const schemas::Machine& machine,
                                                       const ResidentRequest& request,
                                                       const CancelToken& cancel) {
  const auto uid = machine_uid(machine.number);
  if (!uid) return uid.error();
  const auto command = impl_->running_commands.begin(machine.id);
  auto paths = impl_->disks.open(machine, *uid, {cancel.fd(), command->end_fd()});
  if (!paths) return std::move(paths.error());
  if (cancel.is_requested())
    return base::error(base::Code::kMachineNotRoutable, "the machine's SSH access is being closed");
  auto jail_settings = impl_->settings_of(machine, schemas::machine_id(machine.id), std::move(*paths));
  if (!jail_settings) return std::move(jail_settings.error());
  auto files = resident_files(request, impl_->jail.filter, machine.settings.network);
  if (!files) return std::move(files.error());
  auto child = impl_->spawner.spawn(resident_command(impl_->jail, *jail_settings, machine, request, *files));
  if (!child) return child;
  base::Fd copy(::fcntl(child->pidfd.get(), F_DUPFD_CLOEXEC, 0));
  if (copy) impl_->running_commands.add_resident(machine.id, std::move(copy));
  return child;
}

schemas::MachineFacts Sandbox::host_facts() const {
  return {std::string(MachineLimits::name(impl_->limits.kind())), impl_->disks.images() ? kImage : kWatched};
}

}  // namespace millrace::machines

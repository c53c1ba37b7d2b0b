#include "machines/sandbox/sandbox_command.h"

#include <algorithm>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "machines/sandbox/etc_files.h"
#include "platform/process/jail_options.h"
#include "platform/process/memory_file.h"
#include "schemas/machines/machine.h"

namespace millrace::machines {
namespace {

constexpr uid_t kFirstUid = 210'000;
constexpr std::int64_t kNumberMax = 1'000'000'000;
constexpr std::chrono::hours kResidentTime{24 * 366};
constexpr std::uint64_t kSpareCpuSeconds = 10;

void set(schemas::Environment& variables, const std::string& name, const std::string& value) {
  const auto same = [&](const auto& variable) { return variable.first == name; };
  const auto found = std::find_if(variables.begin(), variables.end(), same);
  if (found == variables.end()) {
    variables.emplace_back(name, value);
  } else {
    found->second = value;
  }
}

schemas::Environment variables_of(const CommandRequest& request) {
  const schemas::Environment ours{{"MILLRACE_MACHINE_ID", schemas::machine_id(request.machine.id)},
                                  {"MILLRACE_ARTIFACTS", "/artifacts"}};
  schemas::Environment variables{{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                 {"HOME", "/workspace"},
                                 {"USER", kInnerUser},
                                 {"LOGNAME", kInnerUser}};
  for (const auto& [name, value] : ours) set(variables, name, value);
  for (const auto& [name, value] : request.environment) set(variables, name, value);
  for (const auto& [name, value] : ours) set(variables, name, value);
  return variables;
}

void append_text(std::string& bytes, const std::string& text) { bytes.append(text).push_back('\0'); }

// The command line up to the mounts: the change of user, and bubblewrap.
process::Arguments outer_arguments(const JailParts& parts, const JailSettings& jail_settings) {
  process::Arguments arguments{parts.limits.init_program, kJailUser, std::to_string(jail_settings.uid)};
  const process::NamespaceOptions options{kInnerUid, jail_settings.network};
  process::append(arguments, process::bwrap_arguments(kInnerHost, parts.limits.tmp_bytes, options));
  // No process may write the memory of another process or the settings of the jail's namespaces.
  process::append(arguments, {"--remount-ro", "/proc"});
  process::append(arguments, {"--size", std::to_string(parts.limits.tmp_bytes), "--tmpfs", "/dev/shm"});
  process::append(arguments, {"--bind", jail_settings.paths.workspace, "/workspace"});
  if (!jail_settings.artifacts.empty())
    process::append(arguments, {"--bind", jail_settings.artifacts, "/artifacts"});
  return arguments;
}

void map_cgroup_fds(process::Command& command, const JailSettings& jail_settings, int first) {
  for (const base::Fd& each : jail_settings.cgroup_fds) command.fds.push_back({first++, each.get()});
}

int first_free_fd(const JailSettings& jail_settings) {
  return kJailGroups + static_cast<int>(jail_settings.cgroup_fds.size());
}

process::Arguments resident_arguments(const JailInitLimits& limits) {
  return {kJailResident,
          std::to_string(limits.memory_bytes),
          std::to_string(limits.file_bytes),
          std::to_string(limits.cpu_seconds),
          std::to_string(limits.open_files),
          std::to_string(limits.processes),
          std::to_string(limits.groups)};
}

// Puts copies of files in the jail. Bubblewrap reads each through a descriptor; they are numbered from
// `next`.
class SeenFiles {
 public:
  SeenFiles(process::Command& command, process::Arguments& arguments, int next)
      : command_(command), arguments_(arguments), next_(next) {}
  // A mount of its own, which may cover another file.
  void add(int file, const std::string& path) { add("--ro-bind-data", file, path); }
  // The file can be executed in the jail but not read.
  void add_hidden(int file, const std::string& path) {
    process::append(arguments_, {"--perms", "0111"});
    add(file, path);
  }
  // A file of the root file system, which is read-only once it is complete. Takes less time than a mount.
  void add_to_root(int file, const std::string& path) {
    process::append(arguments_, {"--perms", "0444"});
    add("--file", file, path);
  }

 private:
  void add(const char* option, int file, const std::string& path) {
    command_.fds.push_back({next_, file});
    process::append(arguments_, {option, std::to_string(next_++), path});
  }
  process::Command& command_;
  process::Arguments& arguments_;
  int next_;
};

}  // namespace

base::Result<uid_t> machine_uid(std::int64_t number) {
  if (number < 0 || number > kNumberMax) {
    return base::error(base::Code::kHostAgentFailed, "the machine has no uid on this host");
  }
  return ::geteuid() == 0 ? kFirstUid + static_cast<uid_t>(number) : ::geteuid();
}

JailInitLimits jail_limits(const schemas::Machine& machine, const Sandbox::Options& limits,
                           const JailSettings& jail_settings, std::chrono::milliseconds timeout) {
  static const std::uint64_t processors = std::max(std::thread::hardware_concurrency(), 1U);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(timeout).count();
  JailInitLimits result;
  result.memory_bytes = static_cast<std::uint64_t>(std::max(machine.memory_mib, 1)) << 20;
  result.file_bytes = limits.file_bytes;
  result.cpu_seconds =
      static_cast<std::uint64_t>(std::max<std::int64_t>(seconds, 1)) * processors + kSpareCpuSeconds;
  result.open_files = limits.open_files;
  // Where the group counts the processes, its limit comes first: the kernel says when it was reached.
  result.processes = jail_settings.cgroup_fds.empty() ? limits.processes : 2 * limits.machine_processes;
  result.groups = static_cast<std::uint32_t>(jail_settings.cgroup_fds.size());
  return result;
}

std::string jail_request(const CommandRequest& request, const JailInitLimits& limits) {
  const schemas::Environment variables = variables_of(request);
  JailRequest head;
  head.limits = limits;
  head.arguments = static_cast<std::uint32_t>(request.command.size());
  head.variables = static_cast<std::uint32_t>(variables.size());
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  append_text(bytes, request.cwd.empty() ? "/workspace" : request.cwd);
  for (const std::string& word : request.command) append_text(bytes, word);
  for (const auto& [name, value] : variables) append_text(bytes, std::string(name).append("=").append(value));
  return bytes;
}

process::Command jail_command(const JailParts& parts, const JailSettings& jail_settings,
                              const JailFds& ends) {
  process::Command command;
  command.fds = {{2, ends.setup_errors.get()},         {kJailSocket, ends.socket.get()},
                 {kJailRequestFd, ends.request.get()}, {kJailStdin, ends.input.get()},
                 {kJailStdout, ends.output.get()},     {kJailStderr, ends.errors.get()},
                 {kJailProgram, parts.program.get()},  {kJailFilter, ends.filter.get()}};
  if (jail_settings.paths.lock) command.fds.push_back({kJailDisk, jail_settings.paths.lock->get()});
  map_cgroup_fds(command, jail_settings, kJailGroups);
  process::Arguments arguments = outer_arguments(parts, jail_settings);
  SeenFiles seen(command, arguments, first_free_fd(jail_settings));
  for (const JailFile& file : ends.etc) seen.add_to_root(file.content.get(), file.path);
  process::append(arguments, {"--remount-ro", "/dev", "--remount-ro", "/", "--clearenv", "--as-pid-1"});
  process::append(arguments, {"--add-seccomp-fd", std::to_string(kJailFilter), "--",
                              "/proc/self/fd/" + std::to_string(kJailProgram)});
  command.argv = std::move(arguments);
  return command;
}

process::Command resident_command(const JailParts& parts, const JailSettings& jail_settings,
                                  const schemas::Machine& machine, const Sandbox::ResidentRequest& request,
                                  const ResidentFiles& files) {
  process::Command command;
  command.fds = {{0, request.input},
                 {1, request.output},
                 {2, request.errors},
                 {kJailProgram, parts.program.get()},
                 {kJailFilter, files.filter.get()}};
  if (jail_settings.paths.lock) command.fds.push_back({kJailDisk, jail_settings.paths.lock->get()});
  map_cgroup_fds(command, jail_settings, kJailGroups);
  process::Arguments arguments = outer_arguments(parts, jail_settings);
  SeenFiles seen(command, arguments, first_free_fd(jail_settings));
  for (const JailFile& file : files.etc) seen.add_to_root(file.content.get(), file.path);
  for (std::size_t i = 0; i < files.read_only.size(); ++i)
    seen.add(files.read_only[i].get(), request.read_only[i].path);
  for (std::size_t i = 0; i < files.hidden.size(); ++i)
    seen.add_hidden(files.hidden[i].get(), request.hidden_programs[i]);
  process::append(arguments,
                  {"--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/workspace", "--clearenv"});
  process::append(arguments,
                  {"--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin", "--setenv", "HOME",
                   "/workspace", "--setenv", "MILLRACE_MACHINE_ID", schemas::machine_id(machine.id)});
  process::append(arguments, {"--as-pid-1", "--add-seccomp-fd", std::to_string(kJailFilter), "--",
                              "/proc/self/fd/" + std::to_string(kJailProgram)});
  process::append(arguments,
                  resident_arguments(jail_limits(machine, parts.limits, jail_settings, kResidentTime)));
  process::append(arguments, request.argv);
  command.argv = std::move(arguments);
  return command;
}

namespace {

constexpr int kPipeBytes = 256 << 10;

base::Result<base::Pipe> output_pipe(uid_t uid) {
  auto pipe = base::make_pipe();
  // Lets the command open its /dev/stdout.
  if (pipe && ::geteuid() == 0 && ::fchown(pipe->write.get(), uid, uid) != 0) {
    return base::error(base::Code::kHostAgentFailed, "a pipe cannot be given to the machine's uid");
  }
  // A larger pipe is only an optimisation. The kernel may refuse it to a user who has many pipes.
  if (pipe) ::fcntl(pipe->write.get(), F_SETPIPE_SZ, kPipeBytes);
  return pipe;
}

base::Result<base::Fd> input_of(const CommandRequest& request) {
  if (!request.input_file) return process::memory_file(request.input);
  base::Fd copy(::fcntl(request.input_file->get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return base::error(base::Code::kOverloaded, "no file descriptor is left: raise `ulimit -n`");
  return copy;
}

struct BothEnds {
  JailFds theirs;
  JailLink link;
  base::Fd output;
  base::Fd errors;
  base::Fd setup_errors;
};

base::Result<BothEnds> make_ends(const CommandRequest& request, const JailParts& parts,
                                 const JailSettings& jail_settings) {
  auto link = JailLink::make();
  if (!link) return std::move(link.error());
  auto file = process::memory_file(
      jail_request(request, jail_limits(request.machine, parts.limits, jail_settings, request.timeout)));
  if (!file) return std::move(file.error());
  auto filter = process::memory_file(parts.filter);
  if (!filter) return std::move(filter.error());
  auto etc = etc_files(jail_settings.network);
  if (!etc) return std::move(etc.error());
  auto input = input_of(request);
  if (!input) return std::move(input.error());
  auto output = output_pipe(jail_settings.uid);
  if (!output) return std::move(output.error());
  auto errors = output_pipe(jail_settings.uid);
  if (!errors) return std::move(errors.error());
  auto setup = base::make_pipe();
  if (!setup) return std::move(setup.error());
  return BothEnds{
      {std::move(link->jail_socket), std::move(*file), std::move(*filter), std::move(*etc), std::move(*input),
       std::move(output->write), std::move(errors->write), std::move(setup->write)},
      std::move(link->link),
      std::move(output->read),
      std::move(errors->read),
      std::move(setup->read)};
}

}  // namespace

base::Result<JailHandles> start_jail(const CommandRequest& request, const JailParts& parts,
                                     const JailSettings& jail_settings, process::Spawner& spawner) {
  auto ends = make_ends(request, parts, jail_settings);
  if (!ends) return std::move(ends.error());
  auto child = process::Child::start(spawner, jail_command(parts, jail_settings, ends->theirs));
  if (!child) return std::move(child.error());
  return JailHandles{std::move(*child), std::move(ends->link), std::move(ends->output),
                     std::move(ends->errors), std::move(ends->setup_errors)};
}

}  // namespace millrace::machines

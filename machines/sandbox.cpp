#include "machines/sandbox.h"

#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include "machines/command_pump.h"
#include "machines/machine_folder.h"
#include "machines/sandbox_command.h"
#include "platform/base/log.h"
#include "platform/process/jail_words.h"
#include "platform/process/job_filter.h"
#include "schemas/machine.h"

namespace millrace::machines {
namespace {

constexpr int kPipeBytes = 256 << 10;
constexpr std::chrono::milliseconds kTrialLimit{5'000};

std::string init_beside_us() {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  return (self.parent_path() / "millrace-jail-init").string();
}

base::Error unusable(const std::string& reason, const std::string& advice) {
  return base::error(base::Code::kHostAgentFailed,
                     "no command can be run in a sandbox here: " + reason + "; " + advice);
}

base::Result<process::Pipe> output_pipe(uid_t uid) {
  auto pipe = process::make_pipe();
  // So that the command may open its /dev/stdout.
  if (pipe && ::geteuid() == 0 && ::fchown(pipe->write.get(), uid, uid) != 0) {
    return base::error(base::Code::kHostAgentFailed, "a pipe cannot be given to the machine's uid");
  }
  // A larger one only makes it faster; the kernel may refuse it to a user who has many.
  if (pipe) ::fcntl(pipe->write.get(), F_SETPIPE_SZ, kPipeBytes);
  return pipe;
}

struct BothEnds {
  JailEnds theirs;
  JailLink link;
  process::Fd output;
  process::Fd errors;
  process::Fd setup_errors;
};

base::Result<BothEnds> make_ends(const CommandOrder& order, const JailParts& parts, uid_t uid) {
  auto link = JailLink::make();
  if (!link) return std::move(link.error());
  auto file = process::memory_file(jail_order(order, parts.limits));
  if (!file) return std::move(file.error());
  auto filter = process::memory_file(parts.filter);
  if (!filter) return std::move(filter.error());
  auto input = process::memory_file(order.input);
  if (!input) return std::move(input.error());
  auto output = output_pipe(uid);
  if (!output) return std::move(output.error());
  auto errors = output_pipe(uid);
  if (!errors) return std::move(errors.error());
  auto setup = process::make_pipe();
  if (!setup) return std::move(setup.error());
  return BothEnds{{std::move(link->far_end), std::move(*file), std::move(*filter), std::move(*input),
                   std::move(output->write), std::move(errors->write), std::move(setup->write)},
                  std::move(link->link),
                  std::move(output->read),
                  std::move(errors->read),
                  std::move(setup->read)};
}

base::WallTime trial_time() {
  return std::chrono::time_point_cast<base::WallTime::duration>(std::chrono::system_clock::now());
}

// The folder of a trial, and all that it left.
struct TrialFolder {
  std::string name = "trial-" + base::Uuid::make(trial_time()).str();
  std::string path;
  explicit TrialFolder(const std::string& data_dir) : path(data_dir + "/machines/" + name) {}
  ~TrialFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TrialFolder(const TrialFolder&) = delete;
  TrialFolder& operator=(const TrialFolder&) = delete;
};

CommandEnd host_failed(const std::string& reason) {
  CommandEnd end;
  end.message = reason;
  return end;
}

}  // namespace

struct Sandbox::Parts {
  JailParts jail;
  process::Spawner& spawner;

  base::Result<JailHandles> start(const CommandOrder& order, const std::string& folder) const;
  CommandEnd run(const CommandOrder& order, const std::string& folder, const StopSwitch& stop,
                 const OnOutput& on_output) const;
  base::Status tried() const;
};

// Starts the jail; the command waits in it for `JailWord::kGo`.
base::Result<JailHandles> Sandbox::Parts::start(const CommandOrder& order, const std::string& folder) const {
  const auto uid = machine_uid(order.number);
  if (!uid) return uid.error();
  auto workspace = machine_workspace(jail.limits.data_dir, folder, *uid);
  if (!workspace) return std::move(workspace.error());
  auto ends = make_ends(order, jail, *uid);
  if (!ends) return std::move(ends.error());
  auto child = process::Child::start(spawner, jail_command(jail, ends->theirs, *uid, *workspace));
  if (!child) return std::move(child.error());
  return JailHandles{std::move(*child), std::move(ends->link), std::move(ends->output),
                     std::move(ends->errors), std::move(ends->setup_errors)};
}

CommandEnd Sandbox::Parts::run(const CommandOrder& order, const std::string& folder, const StopSwitch& stop,
                               const OnOutput& on_output) const {
  if (order.command.empty()) return host_failed("an empty command");
  auto handles = start(order, folder);
  if (!handles) return host_failed(handles.error().message);
  return CommandPump(std::move(*handles), stop, on_output).run(order.timeout);
}

// A trial command in a jail with a folder of its own, as all later ones.
base::Status Sandbox::Parts::tried() const {
  const TrialFolder folder(jail.limits.data_dir);
  CommandOrder order;
  order.command = {"true"};
  order.timeout = kTrialLimit;
  const CommandEnd end = run(order, folder.name, StopSwitch(), [](auto, auto) {});
  if (end.how == CommandEnd::How::kExited && end.exit_code == 0) return {};
  const std::string reason = end.message.empty() ? "a trial command did not end well" : end.message;
  const bool hidden = reason.find("Permission denied") != std::string::npos &&
                      reason.find(jail.limits.data_dir) != std::string::npos;
  return unusable(reason, hidden ? "let other users pass (chmod o+x) through each folder above --data"
                                 : process::namespaces_advice(reason));
}

Sandbox::Sandbox(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Sandbox::~Sandbox() = default;

base::Result<std::unique_ptr<Sandbox>> Sandbox::open(Options options, process::Spawner& spawner) {
  if (options.init_program.empty()) options.init_program = init_beside_us();
  options.data_dir = std::filesystem::absolute(options.data_dir).string();
  process::Fd program(::open(options.init_program.c_str(), O_PATH | O_CLOEXEC));
  if (!program || ::access(options.init_program.c_str(), X_OK) != 0) {
    return unusable(options.init_program + " is not there", "install it beside millrace");
  }
  auto bytes = process::job_seccomp_filter();
  if (!bytes) return std::move(bytes.error());
  auto parts =
      std::make_unique<Parts>(Parts{{std::move(options), std::move(program), std::move(*bytes)}, spawner});
  if (auto tried = parts->tried(); !tried) return std::move(tried.error());
  return std::unique_ptr<Sandbox>(new Sandbox(std::move(parts)));
}

CommandEnd Sandbox::run(const CommandOrder& order, const StopSwitch& stop, const OnOutput& on_output) {
  const std::string folder = schemas::machine_id(order.machine);
  CommandEnd end = parts_->run(order, folder, stop, on_output);
  if (end.how != CommandEnd::How::kHostFailed) return end;
  base::log_warn("sandbox_failed", {{"machine", folder}, {"reason", end.message}});
  end.message = "the host could not run the command in the machine's sandbox";
  return end;
}

}  // namespace millrace::machines

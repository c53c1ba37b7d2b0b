#include "machines/remote/ssh_driver.h"

#include <csignal>
#include <filesystem>

#include <sys/socket.h>
#include <unistd.h>

#include "machines/driver.h"
#include "machines/remote/ssh_login.h"
#include "machines/remote/ssh_pump.h"
#include "platform/base/clock.h"
#include "platform/base/ids.h"
#include "platform/process/memory_file.h"
#include "schemas/json/json_text.h"

namespace millrace::machines {
namespace {

using How = CommandResult::How;

constexpr std::chrono::milliseconds kLoginTrialLimit{30'000};
constexpr const char* kCannotRun = "the gateway could not start a connection to the machine";

struct SocketPair {
  base::Fd ours;
  base::Fd theirs;
};

base::Result<SocketPair> make_sockets() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return base::error(base::Code::kOverloaded, "no file descriptor is left: raise `ulimit -n`");
  }
  return SocketPair{base::Fd(ends[0]), base::Fd(ends[1])};
}

// Starts a client with its streams. The remote program waits for its request.
base::Result<SshHandles> start_client(process::Spawner& spawner, process::Command command) {
  auto input = make_sockets();
  if (!input) return std::move(input.error());
  auto output = base::make_pipe();
  if (!output) return std::move(output.error());
  auto errors = base::make_pipe();
  if (!errors) return std::move(errors.error());
  command.fds = {{0, input->theirs.get()}, {1, output->write.get()}, {2, errors->write.get()}};
  auto child = process::Child::start(spawner, command);
  if (!child) return std::move(child.error());
  return SshHandles{std::move(*child), std::move(input->ours), std::move(output->read),
                    std::move(errors->read)};
}

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  for (char& c : text) c = c == '\n' || c == '\r' ? ' ' : c;
  return text;
}

std::string not_routable(const SshResult& end, const std::string& ssh_output) {
  if (end.late) return "the machine cannot be reached: its host did not answer in time";
  if (ssh_output.empty()) return "the machine cannot be used: Perl could not be started on its host";
  return "the machine cannot be reached: " + login_failure(ssh_output);
}

}  // namespace

struct SshDriver::Impl {
  Options options;
  process::Spawner& spawner;
  std::shared_ptr<const SshAuthority> authority;
  std::unique_ptr<const SshFolder> folder;

  // Half of it is for connecting, the rest for the first report.
  std::chrono::milliseconds login_limit() const { return options.connect_timeout * 2; }
  CommandResult run(const CommandRequest& request, const CancelToken& stop, const CommandHooks& hooks) const;
  base::Result<process::Child> sweep(SshLogin& login, const RemoteTree& tree, int signal) const;
  static CommandResult explained(SshResult end, const SshLogin& login);
};

base::Result<process::Child> SshDriver::Impl::sweep(SshLogin& login, const RemoteTree& tree,
                                                    int signal) const {
  auto command = login.command(remote_command(RemoteTask::kSweep, make_remote_token()));
  if (!command) return std::move(command.error());
  auto input = process::memory_file(remote_sweep_input(tree, signal));
  if (!input) return std::move(input.error());
  command->fds = {{0, input->get()}};
  return process::Child::start(spawner, *command);
}

// Sets the messages for the log and for the machine's owner if the command did not end normally.
CommandResult SshDriver::Impl::explained(SshResult end, const SshLogin& login) {
  const bool routable = end.end.how != How::kNotRoutable;
  if (routable && end.end.how != How::kHostFailed) return std::move(end.end);
  const std::string ssh_output = login.ssh_output();
  end.end.detail = one_line(end.end.message + (end.end.message.empty() ? "" : ": ") + ssh_output + end.noise);
  if (!routable) {
    end.end.message = not_routable(end, ssh_output);
  } else if (end.end.message != kConnectionLost) {
    end.end.message = "the machine's host could not run the command";
  }
  return std::move(end.end);
}

CommandResult SshDriver::Impl::run(const CommandRequest& request, const CancelToken& stop,
                                   const CommandHooks& hooks) const {
  const auto failed = [](const base::Error& error) {
    CommandResult end = make_result(How::kHostFailed, kCannotRun);
    end.detail = error.message;
    return end;
  };
  if (!request.machine.settings.ssh) return make_result(How::kNotRoutable, "the machine has no ssh target");
  auto login = SshLogin::make(folder->path(), request.execution, request.machine, *authority,
                              {options.connect_timeout, options.alive_interval});
  if (!login) return failed(login.error());
  const std::string token = make_remote_token();
  auto command = login->command(remote_command(RemoteTask::kRun, token));
  if (!command) return failed(command.error());
  auto handles = start_client(spawner, std::move(*command));
  if (!handles) return failed(handles.error());
  SshPump pump(std::move(*handles),
               {token, remote_run_input(request) + request.input, request.input_file, request.execution,
                login_limit(), request.timeout, request.output_grace},
               stop, hooks, [&](const RemoteTree& tree, int signal) { return sweep(*login, tree, signal); });
  SshResult end = pump.run();
  return explained(std::move(end), *login);
}

SshDriver::SshDriver(std::unique_ptr<Impl> parts) : impl_(std::move(parts)) {}
SshDriver::~SshDriver() = default;

base::Result<std::unique_ptr<SshDriver>> SshDriver::open(Options options, process::Spawner& spawner,
                                                         std::shared_ptr<const SshAuthority> authority) {
  if (::access(kSshClient, X_OK) != 0) {
    return base::error(base::Code::kHostAgentFailed,
                       "the OpenSSH client is not installed: apt-get install openssh-client");
  }
  options.data_dir = std::filesystem::absolute(options.data_dir).string();
  auto folder = SshFolder::open(options.data_dir);
  if (!folder) return std::move(folder.error());
  auto parts =
      std::make_unique<Impl>(Impl{std::move(options), spawner, std::move(authority), *std::move(folder)});
  return std::unique_ptr<SshDriver>(new SshDriver(std::move(parts)));
}

CommandResult SshDriver::run(const CommandRequest& request, const CancelToken& stop,
                             const CommandHooks& hooks) {
  return impl_->run(request, stop, hooks);
}

base::Result<schemas::MachineFacts> SshDriver::start(const schemas::Machine& machine,
                                                     const CancelToken& cancel) {
  CommandRequest request;
  request.machine = machine;
  const auto now = std::chrono::time_point_cast<base::WallTime::duration>(std::chrono::system_clock::now());
  request.execution = "start-" + base::Uuid::make(now).str();
  request.command = {"true"};
  request.timeout = kLoginTrialLimit;
  const CommandResult end = run(request, cancel, {[](auto, auto) {}, {}});
  if (end.how == How::kExited && end.exit_code == 0) return schemas::MachineFacts{};
  const std::string reason = end.message.empty() ? "its host could not run `true`" : end.message;
  base::Error error = base::error(base::Code::kMachineNotRoutable, reason);
  error.details = schemas::JsonObject().member("said", end.detail).finish();
  return error;
}

base::Status SshDriver::stop(const schemas::Machine& /*machine*/, const CancelToken& /*told*/) { return {}; }
base::Status SshDriver::destroy(const schemas::Machine& /*machine*/, const CancelToken& /*told*/) {
  return {};
}

}  // namespace millrace::machines

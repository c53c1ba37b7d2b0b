#include "machines/sshd/local_sshd.h"

#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "machines/keys/key_file.h"
#include "machines/sshd/sshd_files.h"
#include "machines/sshd/sshd_listeners.h"
#include "machines/sshd/sshd_starts.h"
#include "platform/base/log.h"

namespace millrace::machines {
namespace {

base::WallTime now() {
  return std::chrono::time_point_cast<base::WallTime::duration>(std::chrono::system_clock::now());
}

// Logs the message for the operator and returns a neutral error for the machine's owner.
base::Error reported_owner(const std::string& machine, const base::Error& error) {
  base::log_error("ssh_listener_failed", {{"machine", machine}, {"reason", error.message}});
  return base::error(base::Code::kHostAgentFailed,
                     "the host could not open the machine's SSH port: see the log of the host");
}

bool is_any_address(const std::string& host) { return host == "0.0.0.0" || host == "::" || host.empty(); }

}  // namespace

struct LocalSshd::Impl {
  Impl(Options given, Sandbox& jails, std::shared_ptr<const SshAuthority> signer, Hooks given_hooks)
      : options(std::move(given)),
        sandbox(jails),
        authority(std::move(signer)),
        hooks(std::move(given_hooks)),
        listeners(options, hooks, [this](SshListeners::AcceptedClient& accepted, const CancelToken& stop) {
          return begin(accepted, stop);
        }) {}

  base::Result<SshdConnection> begin(SshListeners::AcceptedClient& accepted, const CancelToken& stop) const;

  const Options options;
  Sandbox& sandbox;
  const std::shared_ptr<const SshAuthority> authority;
  const Hooks hooks;
  SshListeners listeners;  // must be last: its threads use the members above
};

base::Result<SshdConnection> LocalSshd::Impl::begin(SshListeners::AcceptedClient& accepted,
                                                    const CancelToken& stop) const {
  auto serials = hooks.revoked();
  if (!serials) return std::move(serials.error());
  const std::string id = schemas::machine_id(accepted.machine.id);
  auto files =
      sshd_files({id, accepted.host_name, accepted.host_key, std::move(*serials), now()}, *authority);
  if (!files) return std::move(files.error());
  auto log = base::make_pipe();
  if (!log) return std::move(log.error());
  ::fcntl(log->read.get(), F_SETFL, O_NONBLOCK);
  auto connection = ConnectionRelay::start(std::move(accepted.socket), accepted.received);
  if (!connection) return std::move(connection.error());
  Sandbox::ResidentRequest order;
  order.argv = sshd_arguments();
  order.input = connection->jail.input.get();
  order.output = connection->jail.output.get();
  order.errors = log->write.get();
  order.hidden_programs = sshd_programs();
  for (const JailFile& file : *files) order.read_only.push_back({file.content.get(), file.path});
  auto spawned = sandbox.start_resident(accepted.machine, order, stop);
  if (!spawned) return std::move(spawned.error());
  return SshdConnection(id, accepted.client, process::Child(std::move(*spawned)),
                        std::move(connection->relay), std::move(log->read));
}

base::Result<std::unique_ptr<LocalSshd>> LocalSshd::open(Options options, Sandbox& sandbox,
                                                         std::shared_ptr<const SshAuthority> authority,
                                                         Hooks hooks) {
  if (::access(kSshdProgram, X_OK) != 0) {
    return base::error(base::Code::kHostAgentFailed, std::string("sshd is not installed at ") + kSshdProgram +
                                                         ": apt-get install openssh-server");
  }
  if (options.public_host.empty() && is_any_address(options.listen_host)) {
    return base::error(
        base::Code::kInvalidField,
        "ssh.public_host must be set when ssh.listen is a wildcard address: clients connect to "
        "that name");
  }
  if (options.public_host.empty()) options.public_host = options.listen_host;
  return std::unique_ptr<LocalSshd>(new LocalSshd(
      std::make_unique<Impl>(std::move(options), sandbox, std::move(authority), std::move(hooks))));
}

LocalSshd::LocalSshd(std::unique_ptr<Impl> parts) : impl_(std::move(parts)) {}
LocalSshd::~LocalSshd() = default;

base::Result<LocalSshd::Endpoint> LocalSshd::listen(const schemas::Machine& machine, int port) {
  if (machine.settings.network) {
    impl_->listeners.remove(machine.id);
    return base::error(base::Code::kMachineNotRoutable,
                       "SSH is not available: the machine's configuration gives it the host's network");
  }
  if (const auto known = impl_->listeners.endpoint(machine)) return *known;
  const std::string id = schemas::machine_id(machine.id);
  auto key = key_in_file(impl_->options.data_dir + "/machines/" + id + "/ssh_host_ed25519_key", id);
  if (!key) return reported_owner(id, key.error());
  auto made = listening_socket(impl_->options.listen_host, port);
  if (!made) return reported_owner(id, made.error());
  return impl_->listeners.add({.machine = machine,
                               .endpoint = {impl_->options.public_host, made->port},
                               .host_key = std::move(*key),
                               .listener = std::move(made->socket)});
}

void LocalSshd::close(const base::Uuid& machine) { impl_->listeners.remove(machine); }

}  // namespace millrace::machines
